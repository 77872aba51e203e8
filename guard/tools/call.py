"""Call: one call of a tool, as its model sees it."""

from __future__ import annotations

from guard.effects import Analysis, At, Below, Effect, Matching, Pattern, Somewhere, Target, Text, Unknown, join
from guard.paths import physical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import NamedTuple, Protocol

    from guard.overlay import View

    class Run(Protocol):
        """Runs another argument vector as a child of this call. Its effects are recorded by themselves: do not return them."""

        def __call__(
            self,
            argv: tuple[Text, ...],
            *,
            cwd: Text | None = None,
            env: Mapping[str, Text] | None = None,
            stdin: Text | None = None,
        ) -> Analysis:
            """Runs it and gives its output and status."""
            ...

    class Shell(Protocol):
        """Runs a text with a POSIX shell as a child of this call, `args` being $0, $1 ... Effects are recorded as by Run."""

        def __call__(
            self,
            text: Text,
            args: tuple[Text, ...] = (),
            *,
            cwd: Text | None = None,
            env: Mapping[str, Text] | None = None,
            stdin: Text | None = None,
        ) -> Analysis:
            """Runs it and gives its output and status."""
            ...

    class Emit(Protocol):
        """Records an effect of this call at once, so that what it runs afterwards sees it. It must not be returned again."""

        def __call__(self, item: Effect | Unknown) -> None:
            """Records it."""
            ...
else:
    from guard.record import NamedTuple


class Call(NamedTuple):
    """The arguments (argv[0] is the name), directory, exported variables, standard input (None: nothing is known to come),
    the tree as it is at this point of the command, and the two ways to run something else.

    `run` and `shell` record the effects of what they run before they return; a model returns only its own effects.
    """

    argv: tuple[Text, ...]
    cwd: Text
    env: Mapping[str, Text]
    stdin: Text | None
    view: View
    run: Run
    shell: Shell
    emit: Emit | None = None  # for the models of programs that both do and run things; None: return all effects

    def path(self, operand: Text) -> Text:
        """The operand as an absolute path, not resolved in any way."""
        if isinstance(operand, str) and operand.startswith("/"):
            return operand
        if isinstance(operand, Pattern) and operand.prefix.startswith("/"):
            return operand
        return join(self.cwd, "/", operand)

    def at(self, operand: Text) -> Target:
        """What unlink, rename and rmdir of the operand touch: the link itself, not what it points at."""
        path = self.path(operand)
        return At(self.view.at(path)) if isinstance(path, str) else self._matching(operand, path)

    def through(self, operand: Text) -> Target:
        """What opening the operand touches: where its links lead."""
        path = self.path(operand)
        return At(self.view.through(path)) if isinstance(path, str) else self._matching(operand, path)

    def inside(self, operand: Text) -> Target:
        """All that is below the directory that the operand leads to, the directory itself not."""
        path = self.path(operand)
        return Below(self.view.through(path)) if isinstance(path, str) else self._matching(operand, path)

    def somewhere(self, operand: Text) -> Target:
        """Anything at or below what the operand leads to."""
        path = self.path(operand)
        return Somewhere(self.view.through(path)) if isinstance(path, str) else self._matching(operand, path)

    def where(self, operand: Text) -> str | None:
        """The physical path of an operand (links followed), None where it is not known."""
        path = self.path(operand)
        return self.view.through(path) if isinstance(path, str) else None

    def kind(self, operand: Text) -> str | None:
        """The kind of what the operand names, without following a last link; None where nothing is, or it is not known."""
        path = self.path(operand)
        return self.view.kind(self.view.at(path)) if isinstance(path, str) else None

    def is_dir(self, operand: Text) -> bool:
        """True when the operand surely is a directory, or a link to one."""
        path = self.path(operand)
        return isinstance(path, str) and self.view.is_dir(path)

    def exists(self, operand: Text) -> bool:
        """True when the operand surely names something, after following links."""
        path = self.path(operand)
        return isinstance(path, str) and self.view.exists(path)

    def read(self, operand: Text) -> bytes | None:
        """The content of the operand's file, None where it is not known."""
        path = self.path(operand)
        return self.view.read(path) if isinstance(path, str) else None

    def _matching(self, operand: Text, path: Text) -> Target:
        """A path that is known in part: the physical directory that the known beginning leads to, and the whole as a pattern.

        A hole at the very beginning may be an absolute path, so then the whole file system is within reach.
        """
        if isinstance(operand, Pattern) and not operand.prefix:
            return Matching("/", operand)
        assert isinstance(path, Pattern)
        directory, _, rest = path.prefix.rpartition("/")
        base = physical(self.view, directory or "/") if path.prefix.startswith("/") else "/"
        if not path.prefix.startswith("/"):
            return Matching("/", path)
        shown = join("" if base == "/" else base, "/", rest, Pattern(path.pieces[1:]))
        return Matching(base, shown if isinstance(shown, Pattern) else path)


def analysis(found: Iterable[Effect | Unknown] = (), output: Text = "", status: int | None = None) -> Analysis:
    """An Analysis from effects and unknowns in one list."""
    items = tuple(found)
    return Analysis(
        tuple(item for item in items if isinstance(item, Effect)),
        tuple(item for item in items if isinstance(item, Unknown)),
        output,
        status,
    )
