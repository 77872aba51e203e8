"""The list of an interactive rebase: as git writes it, and as the editor that the command line names leaves it."""

from __future__ import annotations

from guard.effects import CREATE, At, Effect
from guard.paths import child
from guard.tools.git.programs import edit, sequence_editor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.tools.git.work import Work

PICKS = frozenset("pick p reword r edit e squash s fixup f".split())  # the verbs with which a commit is taken
NAME = "rebase-merge/git-rebase-todo"


def steps_of(work: Work, commits: list[str]) -> list[tuple[str, str]] | None:
    """The verbs of the edited list, each with the commit or the text behind it; None where the list is not known."""
    names = {
        (commit[:7] if commit not in work.state.commits else f"{number:07x}"): commit for number, commit in enumerate(commits)
    }
    subjects = _subjects(work, commits)
    path = child(work.repository.dir, NAME)
    text = "".join(f"pick {name} {subjects.get(commit, 'commit')}\n" for name, commit in names.items())
    command = sequence_editor(work)
    if command is None:
        return [("pick", commit) for commit in commits]
    work.view.make_dir(child(work.repository.dir, "rebase-merge"))
    work.view.apply(Effect(CREATE, At(path), content=text.encode("utf-8", "surrogateescape")))
    edit(work, NAME, command)
    content = work.view.read(path)
    work.view.apply(Effect("delete", At(child(work.repository.dir, "rebase-merge"))))
    return None if content is None else _parsed(content.decode("utf-8", "surrogateescape"), names)


def _subjects(work: Work, commits: list[str]) -> dict[str, str]:
    known = [commit for commit in commits if commit not in work.state.commits]
    found = work.questions.answer("rev-list", "--no-walk", "--format=%s", *known, "--") if known else None
    lines = found[1].decode("utf-8", "surrogateescape").splitlines() if found is not None and found[0] == 0 else []
    return {line.removeprefix("commit "): subject for line, subject in zip(lines[::2], lines[1::2], strict=False)}


def _parsed(text: str, names: dict[str, str]) -> list[tuple[str, str]] | None:
    steps = []
    for line in text.splitlines():
        verb, _, rest = line.strip().partition(" ")
        if not verb or verb.startswith("#") or verb in ("drop", "d", "noop"):
            continue
        if verb in PICKS:
            words = [word for word in rest.split() if word not in ("-C", "-c")]
            if not words or words[0] not in names:
                return None
            rest = names[words[0]]
        steps.append((verb, rest))
    return steps or ([("drop", "")] if "drop " in text or text.startswith("d ") or "noop" in text else [])
