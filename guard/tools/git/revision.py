"""Revisions: which commit a name means, as refs stand after the earlier commands of the line."""

from __future__ import annotations

from guard import expressions as re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.tools.git.work import Work


LIMIT = 10**6  # more generations than any history has
_SUFFIX = re.compile(r"(.*?)((?:\^\{[^}]*\}|\^\d*|~\d*)*)", re.DOTALL)


def ref(work: Work, name: str) -> str | None:
    """The full name of the branch, tag or other ref that a short name means."""
    for full in (name, f"refs/{name}", f"refs/tags/{name}", f"refs/heads/{name}", f"refs/remotes/{name}"):
        if full.startswith("refs/") and (work.state.refs.get(full) or (full not in work.state.refs and work.at(full))):
            return full
    return None


def resolve(work: Work, revision: str) -> str | None:
    """The commit that a revision names, None where it names none."""
    if not revision or revision.startswith("-") or "\0" in revision:
        return None
    one, dots, other = revision.partition("...")
    if dots:
        ends = resolve(work, one or "HEAD"), resolve(work, other or "HEAD")
        return base(work, ends[0], ends[1]) if ends[0] and ends[1] else None
    state = work.state
    if not (state.refs or state.head or state.earlier or state.stashes or state.new):
        return work.questions.commit(revision)
    found = _SUFFIX.fullmatch(revision)
    assert found is not None
    start = _named(work, found.group(1))
    return None if start is None else _walk(work, start, found.group(2))


def _named(work: Work, name: str) -> str | None:
    if name in ("", "HEAD", "@"):
        return work.head
    back = re.fullmatch(r"(?:HEAD|@)?@\{(-?)(\d+)\}|(ORIG_HEAD)", name)
    if back:
        return _before(work, back.group(1), 1 if back.group(3) else int(back.group(2)))
    if name in work.state.refs and not name.startswith("refs/"):
        return work.state.refs[name]
    full = ref(work, name)
    if full is not None:
        return work.at(full)
    if name in work.state.commits:
        return name
    if any(name in (f, f.removeprefix("refs/heads/"), f.removeprefix("refs/tags/")) for f in work.state.refs):
        return None
    return None if work.state.new else work.questions.commit(name)


def _before(work: Work, sign: str, count: int) -> str | None:
    """HEAD@{n}, or the n-th branch that was checked out before."""
    if sign:
        names = work.state.branches
        if count <= len(names):
            return work.at(names[count - 1]) if names[count - 1].startswith("refs/") else names[count - 1]
        return work.questions.commit(f"@{{-{count - len(names)}}}")
    if count == 0:
        return work.head
    if count <= len(work.state.earlier):
        return work.state.earlier[count - 1]
    return work.questions.commit(f"HEAD@{{{count - len(work.state.earlier)}}}")


def _walk(work: Work, commit: str, suffix: str) -> str | None:
    found: str | None = commit
    for step in re.findall(r"\^\{[^}]*\}|\^\d*|~\d*", suffix):
        if found is None:
            return None
        if found not in work.state.commits:
            found = work.questions.commit(found + step)
            continue
        if step.startswith("^{"):
            continue
        number = int(step[1:] or 1) if len(step) < 8 else LIMIT
        if step[0] == "^":
            above = parents(work, found)
            found = found if number == 0 else above[number - 1] if number <= len(above) else None
            continue
        while number and found is not None and found in work.state.commits:
            found = next(iter(parents(work, found)), None)
            number -= 1
        if number and found is not None:
            found = work.questions.commit(f"{found}~{number}")
    return found


def parents(work: Work, commit: str) -> tuple[str, ...]:
    """A commit's parents."""
    made = work.state.commits.get(commit)
    return made.parents if made is not None else work.questions.parents(commit)


def base(work: Work, one: str, other: str) -> str | None:
    """The merge base of two commits; for commits made here, that of what they were made upon."""
    if one == other:
        return one
    ours, theirs = _chain(work, one), _chain(work, other)
    for commit in ours:
        if commit in theirs:
            return commit
    return work.questions.base(ours[-1], theirs[-1])


def between(work: Work, start: str, end: str) -> list[str]:
    """The commits that `end` has and `start` has not, oldest first, merges left out."""
    known = _chain(work, start)
    made: list[str] = []
    place: str | None = end
    while place is not None and place in work.state.commits and place not in known:
        above = work.state.commits[place].parents
        if len(above) < 2:
            made.append(place)
        place = above[0] if above else None
    if place is None or place in known or known[-1] in work.state.commits:
        return made[::-1]
    return work.questions.range(f"{known[-1]}..{place}") + made[::-1]


def _chain(work: Work, commit: str) -> list[str]:
    chain = [commit]
    while chain[-1] in work.state.commits and work.state.commits[chain[-1]].parents:
        chain.append(work.state.commits[chain[-1]].parents[0])
    return chain
