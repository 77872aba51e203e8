"""git format-patch: commits as mails, in files or on standard output, as text for `git am` and what else reads them."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import CREATE, OVERWRITE, At, Effect, join
from guard.tools.git import diffs
from guard.tools.git.options import read, table
from guard.tools.git.revision import between

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Text
    from guard.tools.git.options import Given
    from guard.tools.git.work import Work

FORMAT_PATCH = table(
    flags="kqnNspM",
    values="ov",
    optional="M",
    long="""
    stdout numbered/n no-numbered/N start-number= numbered-files keep-subject/k output-directory=/o attach? no-attach inline?
    thread? in-reply-to= signoff/s subject-prefix= rfc reroll-count=/v to= cc= from? cover-letter signature= suffix= quiet/q
    no-binary root zero-commit base= no-renames no-stat
    """,
)
LIMIT = 20  # commits
_COUNT = re.compile(r"-\d+")


def mails(work: Work, words: list[str]) -> list[tuple[str, str]] | None:
    """The commits that format-patch is asked for, oldest first: the name of each one's file, and its text. None: not known."""
    counts = [word for word in words if _COUNT.fullmatch(word)]
    given = read([word for word in words if not _COUNT.fullmatch(word)], FORMAT_PATCH)
    if given.on("cover-letter", "attach", "inline", "numbered-files") or given.options.strange or not diffs.usual(work):
        return None
    commits = _commits(work, given, int(counts[-1][1:]) if counts else None)
    if commits is None or len(commits) > LIMIT or any(commit in work.state.commits for commit in commits):
        return None
    suffix, version = given.value("suffix"), given.value("v")
    paths = [str(path) for path in given.after or ()]
    options = ["-p", "--no-renames" if given.on("no-renames") else "-M", "--stat"]
    found = []
    for number, commit in enumerate(commits, 1):
        text = diffs.shown(work, commit, options, paths, "email")
        subject = diffs.subject(work, commit)
        if text is None or subject is None:
            return None
        name = f"{'' if version is None else f'v{version}-'}{number:04d}-{subject[:52]}{'.patch' if suffix is None else suffix}"
        found.append((name, text.replace("\nSubject: ", "\nSubject: [PATCH] ", 1) + "-- \n2\n\n"))
    return found


def _commits(work: Work, given: Given, count: int | None) -> list[str] | None:
    name = str(given.before[0]) if given.before else "HEAD"
    start, dots, end = name.partition("..")
    if len(given.before) > 1:
        return None
    if dots or count is None:
        first, last = work.resolve(start or "HEAD"), work.resolve(end or "HEAD" if dots else "HEAD")
        if given.on("root"):
            return None
        return between(work, first, last) if first and last else []
    found: list[str] = []
    place = work.resolve(name)
    while place is not None and len(found) < min(count, LIMIT + 1):
        above = work.parents(place)
        if len(above) < 2:
            found.append(place)
        place = above[0] if above else None
    return found[::-1]


def written(work: Work, words: list[str]) -> tuple[Text | None, list[Effect]]:
    """What format-patch prints, None where that cannot be told, and the files that it writes."""
    known = mails(work, words)
    if known is None:
        return None, []
    given = read([word for word in words if not _COUNT.fullmatch(word)], FORMAT_PATCH)
    if given.on("stdout"):
        return "".join(text for _, text in known), []
    directory = given.value("o") or work.config("format.outputdirectory") or "."
    slash = "" if str(directory).endswith("/") else "/"
    names = [name if directory == "." else join(directory, slash, name) for name, _ in known]
    effects = []
    for name, (_, text) in zip(names, known, strict=True):
        target = work.call.through(name)
        old = isinstance(target, At) and work.view.kind(target.path) is not None
        effects.append(Effect(OVERWRITE if old else CREATE, target, content=text.encode("utf-8", "surrogateescape")))
    return "" if given.on("q") else join(*(part for name in names for part in (name, "\n"))), effects
