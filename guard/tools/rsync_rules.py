"""The filter rules of rsync: which names are hidden from the sender, which are protected from deletion at the receiver."""

from __future__ import annotations

from guard import expressions as re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NamedTuple

    from guard.effects import Text
else:
    from guard.record import NamedTuple

CVS = (
    "RCS SCCS CVS CVS.adm RCSLOG cvslog.* tags TAGS .make.state .nse_depinfo *~ #* .#* ,* _$* *$ *.old *.bak *.BAK *.orig "
    "*.rej .del-* *.a *.olb *.o *.obj *.so *.exe *.Z *.elc *.ln core .svn/ .git/ .hg/ .bzr/"
).split()
WORDS = {
    "exclude": "-", "include": "+", "hide": "H", "show": "S", "protect": "P", "risk": "R", "merge": ".",
    "dir-merge": ":", "clear": "!",
}  # fmt: skip


class Rule(NamedTuple):
    """One rule: does it take the name out, on which sides ("s", "r" or both), and the expression for paths from the top."""

    out: bool
    sides: str
    expression: re.Pattern[str]
    directories: bool
    inverted: bool = False


class Rules:
    """Rules in order; the first that matches decides. `unsure` when some could not be read."""

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._read = read
        self.rules: list[Rule] = []
        self.unsure = False

    def add(self, pattern: Text, out: bool, sides: str = "sr", inverted: bool = False) -> None:
        """An --exclude or --include pattern, where the word does not say otherwise by itself."""
        if not isinstance(pattern, str):
            self.unsure = True
            return
        if pattern == "!":
            self.rules.clear()
            return
        if pattern[:2] in ("+ ", "- "):
            out, pattern = pattern[0] == "-", pattern[2:]
        if pattern:
            self.rules.append(
                Rule(out, sides, expression(pattern), pattern.endswith("/") and not pattern.endswith("***"), inverted)
            )

    def add_file(self, operand: Text, out: bool, sides: str = "sr", separator: str = "\n") -> None:
        """The patterns of an --exclude-from or --include-from file."""
        data = self._read(operand) if isinstance(operand, str) and operand != "-" else None
        if data is None:
            self.unsure = True
            return
        for line in data.decode("utf-8", "surrogateescape").split(separator):
            text = line.rstrip("\r")
            if text.strip() and text[0] not in "#;":
                self.add(text, out, sides)

    def add_filter(self, text: Text) -> None:
        """A --filter rule."""
        if not isinstance(text, str):
            self.unsure = True
            return
        found = re.fullmatch(r"([a-zA-Z-]{2,}|[-+.:!PHSR])(?:,?([/!Csrpxwen+-]*))?(?:[ _](.*))?", text.strip("\n"), re.DOTALL)
        verb = WORDS.get(found[1], found[1]) if found else ""
        if found is None or len(verb) != 1:
            self.unsure = True
            return
        marks, pattern = found[2] or "", found[3] or ""
        if verb == "!":
            self.rules.clear()
        elif verb == "." and not marks:
            self._merge(pattern)
        elif verb in "PHSR" and not marks:
            self.add(pattern, verb in "PH", "r" if verb in "PR" else "s")
        elif verb in "+-" and not set(marks) - set("!sr"):
            self.add(pattern, verb == "-", "".join(s for s in "sr" if s in marks) or "sr", "!" in marks)
        else:
            self.unsure = True

    def _merge(self, name: str) -> None:
        data = self._read(name)
        if data is None:
            self.unsure = True
            return
        for line in data.decode("utf-8", "surrogateescape").splitlines():
            if line.strip() and line[0] not in "#;":
                self.add_filter(line)

    def excludes(self, path: str, directory: bool, side: str) -> bool:
        """True when a path (relative to the top of the transfer) is taken out on a side: "s" sender, "r" receiver."""
        for rule in self.rules:
            applies = side in rule.sides and (directory or not rule.directories)
            if applies and (rule.expression.fullmatch(path) is not None) != rule.inverted:
                return rule.out
        return False


def expression(pattern: str) -> re.Pattern[str]:
    """The paths that a pattern of rsync matches. https://download.samba.org/pub/rsync/rsync.1#PATTERN_MATCHING_RULES"""
    anchored = pattern.startswith("/")
    text = pattern.strip("/") if not pattern.endswith("***") else pattern.lstrip("/")
    below = text.endswith("/***")
    text = text[: -len("/***")] if below else text
    body = ""
    for part in re.findall(r"\\.|\*\*+|\[[^\]]+\]|.", text, re.DOTALL):
        if part.startswith("**"):
            body += ".*"
        elif part == "*":
            body += "[^/]*"
        elif part == "?":
            body += "[^/]"
        elif part[0] == "[" and len(part) > 2:
            body += (
                "["
                + ("^" if part[1] in "!^" else "")
                + re.sub(r"([\\\[])", r"\\\1", part[2 if part[1] in "!^" else 1 : -1])
                + "]"
            )
        else:
            body += re.escape(part[-1])
    try:
        return re.compile(("" if anchored else "(?:.*/)?") + body + ("(?:/.*)?" if below else ""), re.DOTALL)
    except re.error:
        return re.compile(re.escape(text))
