"""git init and clone: repositories that the command line makes."""

from __future__ import annotations

from guard.effects import Analysis, Pattern, unknown
from guard.paths import child
from guard.tools.git.options import read, table
from guard.tools.git.state import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Text
    from guard.tools.git.repository import Globals

INIT = table(
    flags="q",
    values="b",
    long="""
    quiet/q bare template= separate-git-dir= object-format= initial-branch=/b shared? ref-format=
    """,
)
CLONE = table(
    flags="vqnls46",
    values="jobuc",
    long="""
    verbose quiet progress no-checkout bare mirror local no-hardlinks shared recurse-submodules? recursive? jobs=/j
    template= reference= reference-if-able= dissociate origin=/o branch=/b upload-pack=/u depth= shallow-since= shallow-
    exclude= single-branch no-tags tags shallow-submodules separate-git-dir= config=/c server-option= filter= remote-
    submodules sparse bundle-uri=
    """,
)


def init(given: Globals, args: tuple[Text, ...]) -> Analysis:
    """A new repository, without a commit; an existing one stays as it is."""
    options = read(args, INIT)
    where = options.operands[0] if options.operands else "."
    place = given.call.where(where)
    if place is None or given.git_dir is not None:
        return Analysis(output=unknown("unknown-output", "git init"))
    view = given.call.view
    if view.kind(place) is None:
        view.make_dir(place)
    directory = place if options.on("bare") or given.bare else child(place, ".git")
    if view.kind(child(directory, "HEAD")) is None and directory not in view.notes:
        if view.kind(directory) is None:
            view.make_dir(directory)
        name = options.value("b")
        branch = name if isinstance(name, str) else "master"
        view.notes[f"git:{directory}"] = State(head=f"refs/heads/{branch}", new=True)
    return Analysis(output="" if options.on("q") else unknown("unknown-output", "git init"), status=0)


def clone(given: Globals, args: tuple[Text, ...]) -> Analysis:
    """A new directory with a repository in it; nothing that was there is touched."""
    options = read(args, CLONE)
    names = options.operands
    if not names or any(isinstance(name, Pattern) for name in names):
        return Analysis()
    source = str(names[0]).rstrip("/")
    target = (
        names[1] if len(names) > 1 else source.removesuffix("/.git").removesuffix(".git").rpartition("/")[2].rpartition(":")[2]
    )
    place = given.call.where(target)
    view = given.call.view
    if place is None or (view.kind(place) is not None and view.listdir(place)):
        return Analysis(status=128)
    if view.kind(place) is None:
        view.make_dir(place)
    if not options.on("bare", "mirror"):
        directory = child(place, ".git")
        view.make_dir(directory)
        view.notes[f"git:{directory}"] = State(head="refs/heads/main", new=True)
    return Analysis()
