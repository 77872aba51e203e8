"""The words for each kind of loss and of doubt, and what to do instead. Data only: message.py makes sentences of it."""

from __future__ import annotations

from guard.effects import DELETE, MOVE, REVERT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from guard.record import NamedTuple


class Loss(NamedTuple):
    """The words for one kind of loss: what the command would do, what the file may do, what to do instead, what a
    person would have to want ({it}: the files, {s}: the s of a verb that one file is the subject of)."""

    verb: str
    may: str
    instead: str
    want: str = "{it} really ha{s} to go"


_REMOVE = "name only paths that are not protected."
_EDIT = "change only the lines that have to change, or append with >>."
_ALONE = "leave what is locked alone."
_REPLACED = "{it} really ha{s} to be replaced"
LOSSES = {
    "delete-kept": Loss("delete", "may be edited, not deleted", _REMOVE),
    "move-kept": Loss("move away", "may be moved among protected paths, not out of them", "copy, and leave the original."),
    "overwrite-kept": Loss("overwrite", "may be edited, not replaced as a whole", _EDIT, _REPLACED),
    "truncate-kept": Loss("empty", "may be edited, not emptied", _EDIT, "{it} really ha{s} to be emptied"),
    "empty-kept": Loss("empty", "may be edited, not emptied", _EDIT, "{it} really ha{s} to be emptied"),
    "replace-kept": Loss("overwrite", "may be edited, but less than half of the old text would be left", _EDIT, _REPLACED),
    "revert-kept": Loss(
        "throw away uncommitted changes of",
        "may be edited, not thrown back",
        "commit them, or leave them out.",
        "the uncommitted changes of {it} really have to go",
    ),
    "link-kept": Loss("put a link in the place of", "may be edited, not replaced", "give the link another name.", _REPLACED),
    "leave-kept": Loss(
        "take from the tree",
        "must stay in the tree",
        "work on a branch that has what is protected.",
        "{it} really ha{s} to leave the tree",
    ),
    "delete-present": Loss("delete", "must stay", _REMOVE),
    "move-present": Loss("move away", "must stay where it is", _REMOVE, "{it} really ha{s} to be moved"),
    "replace-present": Loss("overwrite", "must stay as it is", _REMOVE, _REPLACED),
    "commit-kept": Loss(
        "commit, past the hook that judges it, the loss of",
        "may be edited, not deleted",
        "commit without --no-verify, SKIP, core.hooksPath and Guard-Allow; the hook says what may go.",
    ),
    "change-locked": Loss("change", "may not be changed", _ALONE, "{it} really ha{s} to be changed"),
    "create-locked": Loss("create", "may not be made", _ALONE, "{it} really ha{s} to be made"),
}
# What is done to a locked file, where that is more than a change of its content.
LOCKED = {
    DELETE: LOSSES["change-locked"]._replace(verb="delete", want="{it} really ha{s} to go"),
    MOVE: LOSSES["change-locked"]._replace(verb="move away", want="{it} really ha{s} to be moved"),
    REVERT: LOSSES["change-locked"]._replace(verb="throw back", want="{it} really ha{s} to be thrown back"),
}
# What to do instead where it is the tool that finds its files: they are not among its operands.
_HISTORY = "take only changes that leave what is protected in place."
INSTEAD = {
    "find": "add tests that leave out what is protected.",
    "fd": "add --exclude for what is protected.",
    "rsync": "add --exclude for what is protected.",
    "tar": "unpack into a directory of its own, then copy what is missing.",
    "unzip": "unpack into a directory of its own, then copy what is missing.",
    "bsdtar": "unpack into a directory of its own, then copy what is missing.",
    "cpio": "unpack into a directory of its own, then copy what is missing.",
    "curl": "write to another name.",
    "wget": "write to another name.",
    "git clean": "add -e for what is protected.",
    "git stash": "commit what is protected first; what a stash holds comes back with: git stash apply",
    "git checkout": "name only files that are not protected, or commit them first.",
    "git restore": "name only files that are not protected, or commit them first.",
    "git reset": "commit what is protected first, or leave it out.",
    **dict.fromkeys(
        (f"git {verb}" for verb in ("merge", "pull", "rebase", "cherry-pick", "revert", "am", "apply", "switch", "bisect")),
        _HISTORY,
    ),
}


class Doubt(NamedTuple):
    """The words for one thing that cannot be told: the sentence ({what}: as the user wrote it) and the repair."""

    sentence: str
    repair: str


_SPLIT = "Split it into simpler commands that name their files."
UNKNOWNS = {
    "unknown-variable": Doubt("{what} has no value that is known here", "Write the path out in full."),
    "unknown-output": Doubt("what {what} will print is not known", "Run that part first, then write the path out in full."),
    "unknown-input": Doubt("what comes in from {what} is not known", "Run that part first, then name the files."),
    "unknown-argument": Doubt("which files {what} works on is not known", "Name the files."),
    "unknown-command": Doubt("what {what} runs is not known", "Name the command."),
    "unknown-directory": Doubt("where {what} works is not known", "Name the directory."),
    "unknown-name": Doubt("what {what} stands for in a directory that is not known cannot be told", "Name the files."),
    "unknown-test": Doubt("on which files the conditions of {what} hold is not known", "Name the files."),
    "too-deep": Doubt("it nests too deeply to be read", _SPLIT),
    "too-long": Doubt("it is too long to be read", _SPLIT),
    "too-many-steps": Doubt("it takes too many steps to be followed", _SPLIT),
    "out-of-time": Doubt("it could not be followed in time", _SPLIT),
    "syntax": Doubt("no shell would read it: {what}", "Mend the syntax."),
    "parser": Doubt("guard's own reader failed on it, which is guard's fault and says nothing about the command", _SPLIT),
    "model-failed": Doubt("guard's own model failed ({what}), which is guard's fault and says nothing about the command", _SPLIT),
    "opens-shell": Doubt(
        "it opens a shell, or another program that takes commands, and nobody sees what is typed there",
        "Give it the commands: with -c, in a file, or as commands of their own.",
    ),
    "stops-half-way": Doubt(
        "it would stop half-way, because the sandbox keeps {what} where it is, as it is", "Have it done outside of the sandbox."
    ),
    "stops-unforeseen": Doubt(
        "whether {what} would stop half-way, at what the sandbox keeps in place, shows only when it has fetched",
        "Run git fetch, then git merge FETCH_HEAD.",
    ),
}
