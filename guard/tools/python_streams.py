"""fileinput: the lines of files, which print may write anew."""

from __future__ import annotations

from guard.effects import Text
from guard.tools.python_program import Program
from guard.tools.python_values import File, Followed, Opaque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def lines_of(program: Program, paths: list[Text], in_place: bool) -> Any:
    """The lines of files in turn; an unknown value where one of the files is not known."""
    here = program.process.here
    contents = [here.read(path) for path in paths]
    if not paths or any(content is None for content in contents):
        for path in paths if in_place else ():
            program.process.edit(path, None)
        program.silent = program.silent and not in_place
        return Opaque("a line", frozenset(where for path in paths if (where := here.where(path))))
    lines: list[tuple[int, str]] = []
    for at, content in enumerate(contents):
        pieces = (content or b"").decode("utf-8", "surrogateescape").splitlines(keepends=True)
        lines += [(at, line) for line in pieces]
    return Rewritten(program, paths, lines) if in_place else [line for _, line in lines]


class Rewritten(Followed):
    """Lines that are gone through while print writes the files anew; `waiting` until somebody does go through them."""

    def __init__(self, program: Program, paths: list[Text], lines: list[tuple[int, str]]) -> None:
        super().__init__([line for _, line in lines])
        self.paths = paths
        self.places = [at for at, _ in lines]
        self.current = -1
        self.waiting = True
        program.rewritten.append(self)

    def enter(self, program: Program, at: int) -> bool:
        """Opens the file that a line is from."""
        if self.waiting:
            self.waiting = False
        if self.places[at] != self.current:
            self.end(program)
            self.current = self.places[at]
            program.printed = File(self.paths[self.current], "w", b"")
            program.printed.written = program.printed.derived = True
            program.files.append(program.printed)
        return True

    def end(self, program: Program) -> None:
        """Closes the file."""
        file, program.printed = program.printed, None
        if file is not None:
            program.close(file)

    def give_up(self, program: Program) -> None:
        """At the program's end: lines that were gone through in a way that is not followed."""
        if self.waiting and len(self):
            for path in self.paths:
                program.process.edit(path, None)
