"""Completion: what a shell asks guard when TAB is pressed, and the text by which it learns to ask.

The option parser does the asking and the answering (click's shell completion); here stand the values that it cannot know. What
a parameter takes is told by its metavar, so that no command has to say it twice.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import click
from click.shell_completion import CompletionItem, get_completion_class

from guard import log, project
from guard.errors import GuardError
from guard.shown import visible

VARIABLE = "_GUARD_COMPLETE"  # set by a shell that asks
NAMES = ("guard", "pathguard")  # the command goes by both
SHELLS = ("bash", "zsh", "fish")
RECENT = 30  # ids that are offered, newest first
ZSH_FIRST = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -D; }\n"

Values = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def source(shell: str) -> str:
    """What a shell evaluates to complete guard's commands, under both its names. Raises GuardError for another shell."""
    kind = get_completion_class(shell) if shell in SHELLS else None
    if kind is None:
        raise GuardError(f"there is no completion for the shell {shell!r}", todo=f"name one of {', '.join(SHELLS)}")
    texts = [kind(click.Command(name), {}, name, VARIABLE).source() for name in NAMES]
    return (ZSH_FIRST if shell == "zsh" else "") + "\n".join(texts)


def prepare(command: click.Command) -> None:
    """Gives every parameter of a command and of those below it the values that its metavar names."""
    for each in _all(command):
        for parameter in each.params:
            _fit(parameter)


def _all(command: click.Command) -> Iterator[click.Command]:
    yield command
    if isinstance(command, click.Group):
        for each in command.commands.values():
            yield from _all(each)


def _fit(parameter: click.Parameter) -> None:
    """Tells a parameter its values, where its metavar names some."""
    metavar = parameter.metavar or ""
    words = "".join(character if character.isalpha() else " " for character in metavar).split()
    values = next((VALUES[word] for word in words if word in VALUES), None)
    if metavar == NESTED:
        parameter.type = _Type(_commands)
    elif values is not None:
        parameter.type = _Type(values)
    elif "DIR" in words:
        parameter.type = click.Path(file_okay=False)
    elif not {"PATH", "FILE"}.isdisjoint(words):
        parameter.type = click.Path()


class _Type(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2
    """A text of which a function knows how it may go on."""

    name = "text"

    def __init__(self, values: Values) -> None:
        self._values = values

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return self._values(ctx, param, incomplete)


def _items(texts: Iterable[tuple[str, str]], typed: str) -> list[CompletionItem]:
    return [CompletionItem(text, help=visible(said)) for text, said in texts if text.startswith(typed)]


def _ids(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """The ids of the last decisions, and files, where a path may stand as well."""
    last = deque(log.read(project.state_dir(os.environ)), RECENT)
    found = {str(event["id"]): str(event.get("command"))[:60] for event in reversed(last) if event.get("id")}
    # In front: bash forgets what stands before it.
    files = [CompletionItem(typed, type="file")] if "PATH" in (parameter.metavar or "") else []
    return [*files, *_items(found.items(), typed)]


def _snapshots(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """The names of the nearest project's snapshots, newest first."""
    from guard.health.place import place
    from guard.vault.store import Vault

    at = place(None, os.environ)
    names = sorted(Vault(at.state, at.root).names(), reverse=True)[:RECENT] if at.root and at.state else []
    return _items(((name, "") for name in names), typed)


def _programs(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """For the first word what is on PATH, once there is something to go by; files, too."""
    files = [CompletionItem(typed, type="file")]
    if not typed or "/" in typed or context.params.get(parameter.name or ""):
        return files
    found: set[str] = set()
    for directory in os.environ.get("PATH", os.defpath).split(":"):
        with suppress(OSError):
            found |= {name for name in os.listdir(directory or ".") if name.startswith(typed)}
    return [*files, *_items(((name, "") for name in sorted(found)), typed)]


def _layers(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    from guard.health import LAYERS

    return _items(((layer, "") for layer in LAYERS), typed)


def _shells(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    return _items(((shell, "") for shell in SHELLS), typed)


def _commands(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    group = context.find_root().command
    return _items(((name, "") for name in sorted(group.commands)), typed) if isinstance(group, click.Group) else []


# By a word of the metavar.
VALUES: dict[str, Values] = {"ID": _ids, "SNAPSHOT": _snapshots, "CMD": _programs, "LAYER": _layers, "SHELL": _shells}
NESTED = "[COMMAND]..."  # the metavar of names of guard's own commands
