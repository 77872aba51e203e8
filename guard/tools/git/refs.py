"""git branch, tag, update-ref and symbolic-ref: refs come, go and move."""

from __future__ import annotations

from guard.effects import DELETE, At, Effect
from guard.paths import child
from guard.tools.git.options import read, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Text
    from guard.tools.git.work import Work


BRANCH = table(
    flags="vqtrarldDmMcCfi",
    values="u",
    long="""
    verbose quiet track?/t set-upstream-to=/u unset-upstream color? remotes/r contains= no-contains= abbrev? all/a
    delete/d move/m copy/c list/l show-current create-reflog edit-description force/f merged? no-merged? column? sort=
    points-at= ignore-case recurse-submodules format= omit-empty
    """,
)
TAG = table(
    flags="lvdasfi",
    values="mFu",
    optional="n",
    long="""
    list/l delete/d verify annotate/a message=/m file=/F edit sign/s cleanup= local-user= force/f create-reflog column?
    contains= no-contains= merged? no-merged? sort= points-at= format= color? ignore-case
    """,
)
UPDATE_REF = table(flags="dz", values="m", long="no-deref stdin create-reflog")
FETCH = table(
    flags="aftunpkqvmP46",
    values="joh",
    long="""
    all append/a atomic depth= deepen= shallow-since= shallow-exclude= unshallow update-shallow negotiation-tip= negotiate-
    only dry-run porcelain write-fetch-head force/f keep/k multiple auto-maintenance auto-gc write-commit-graph prefetch
    prune/p prune-tags/P no-tags/n refetch refmap= tags/t recurse-submodules? jobs=/j set-upstream submodule-prefix= update-
    head-ok/u upload-pack= quiet/q verbose/v progress server-option=/o show-forced-updates ipv4/4 ipv6/6 stdin filter=
    """,
)
SYMBOLIC_REF = table(flags="qd", values="m", long="quiet delete/d short recurse")


def branch(work: Work, args: tuple[Text, ...]) -> int | None:
    """git branch: refs come, go and move."""
    given = read(args, BRANCH)
    names = [name for name in given.operands if isinstance(name, str)]
    if given.on("d", "D"):
        return _delete(work, names, "refs/remotes/" if given.on("r") else "refs/heads/", given.on("D", "f"))
    if given.on("m", "M"):
        return _rename(work, names)
    if (
        given.on("l", "r", "a", "show-current", "contains", "merged", "no-merged", "u", "unset-upstream", "points-at")
        or not names
    ):
        return None if not given.on("show-current") else 0
    target = work.resolve(names[1] if len(names) > 1 else "HEAD")
    full = f"refs/heads/{names[0]}"
    if target is None or (work.ref(full) and not given.on("f")) or full == work.branch:
        return 128
    _set(work, full, target)
    return 0


def _set(work: Work, ref: str, value: str) -> None:
    """A ref comes to stand elsewhere; what only it held is lost."""
    work.state = work.state._replace(refs={**work.state.refs, ref: value})
    left = dict(work.state.left)
    for (path, blob), place in work.state.left.items():
        if work.view.kind(place) is not None and not work.still_held(path, blob):
            work.effect(Effect(DELETE, At(place)))
            del left[(path, blob)]
    work.state = work.state._replace(left=left)


def _delete(work: Work, names: list[str], where: str, force: bool) -> int | None:
    status: int | None = 0
    for name in names:
        full = where + name
        if not work.ref(full) or full == work.branch:
            status = 1
        else:
            _set(work, full, "")
            status = None if not force and status == 0 else status
    return status


def _rename(work: Work, names: list[str]) -> int:
    if not names:
        return 128
    old = f"refs/heads/{names[0]}" if len(names) > 1 else work.branch
    new = f"refs/heads/{names[-1]}"
    value = work.resolve(old) if old else work.head
    if old is None or value is None:
        return 128
    current = old == work.branch
    refs = {**work.state.refs, old: "", new: value}
    work.state = work.state._replace(refs=refs, head=new if current else work.state.head)
    return 0


def tag(work: Work, args: tuple[Text, ...]) -> int | None:
    """git tag: tags come and go."""
    given = read(args, TAG)
    names = [name for name in given.operands if isinstance(name, str)]
    if given.on("d"):
        return _delete(work, names, "refs/tags/", True)
    if given.on("l", "v", "n", "contains", "points-at") or not names:
        return None
    target = work.resolve(names[1] if len(names) > 1 else "HEAD")
    full = f"refs/tags/{names[0]}"
    if target is None or (work.ref(full) and not given.on("f")):
        return 128
    _set(work, full, target)
    return 0


def update_ref(work: Work, args: tuple[Text, ...]) -> int | None:
    """git update-ref: one ref is set or deleted."""
    given = read(args, UPDATE_REF)
    names = [name for name in given.operands if isinstance(name, str)]
    if given.on("stdin") or not names:
        return None
    name = (work.branch or "HEAD") if names[0] == "HEAD" else names[0]
    value = "" if given.on("d") else work.resolve(names[1]) if len(names) > 1 else None
    if value is None:
        return 128
    if name == "HEAD" or name == work.branch:
        work.move_head(value or None)
    else:
        _set(work, name, value)
    return 0


def fetch(work: Work, args: tuple[Text, ...]) -> int | None:
    """git fetch: from this very repository refs are set to what others stand at; what another one brings is not known."""
    given = read(args, FETCH)
    names = [name for name in given.operands if isinstance(name, str)]
    if given.on("dry-run") or len(names) < len(given.operands) or given.on("all", "multiple"):
        return None
    place = names[0] if names else "origin"
    here = _itself(work, place)
    first: str | None = None
    for spec in names[1:] or ["HEAD"]:
        source, _, target = spec.removeprefix("+").partition(":")
        commit = work.resolve(source or "HEAD" if here else f"{place}/{source}")
        first = first or commit
        if commit is None and here:
            return 128
        if here and commit is not None and target:
            full = target if target.startswith("refs/") else f"refs/heads/{target}"
            if full == work.branch and not given.on("u", "update-head-ok"):
                return 128
            before = work.at(full)
            if before is not None and not (given.on("f") or spec.startswith("+")) and work.base(before, commit) != before:
                return 1
            _set(work, full, commit)
    if first is not None:
        work.state = work.state._replace(refs={**work.state.refs, "FETCH_HEAD": first})
    return 0 if here else None


def _itself(work: Work, place: str) -> bool:
    """Whether a place to fetch from is the repository itself, or another of its work trees."""
    url = work.config(f"remote.{place}.url") or place
    path = work.call.where(url.removeprefix("file://"))
    if path is None or not work.view.is_dir(path):
        return False
    return work.repository.common in (path, child(path, ".git")) or work.top == path or work.view.through(path) == work.top


def symbolic_ref(work: Work, args: tuple[Text, ...]) -> int | None:
    """git symbolic-ref: HEAD comes to be on another branch, index and work tree stay as they are."""
    given = read(args, SYMBOLIC_REF)
    names = given.operands
    if len(names) < 2 or names[0] != "HEAD" or not isinstance(names[1], str):
        return None
    work.state = work.state._replace(head=names[1])
    return 0
