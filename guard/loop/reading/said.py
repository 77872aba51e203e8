"""What an agent's output has said so far: the values that the readers of all clients fill."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from guard.loop.facts import Tokens

FAILURE, TURNS, MONEY = "error", "turns", "money"
MOST = 200  # denials and error texts that are kept
LONGEST = 1 << 20  # characters of a text that are kept, from its end


@dataclass(frozen=True)
class Denial:
    """A tool call that the client denied."""

    tool: str
    arguments: dict[str, Any]
    id: str = ""

    @property
    def command(self) -> str | None:
        """The shell command, None where the tool is no shell."""
        value = self.arguments.get("command")
        return value if self.tool in SHELLS and isinstance(value, str) else None


SHELLS = ("Bash", "bash", "run_shell_command", "shell", "Shell", "exec_command", "local_shell")


@dataclass
class Said:
    """`text` is the agent's last own message, `result` the client's word for what the final text is; None: not said.

    `failure` is "", error, turns or money; `status` an HTTP status or a word for it; `rejected` the kind of limit whose event
    came without a success after it, and when it ends (UTC milliseconds).
    """

    known: bool = False  # something of the client's form was read
    text: str | None = None
    result: str | None = None
    failure: str = ""
    errors: list[str] = field(default_factory=list)
    status: str = ""
    asked: bool = False
    denials: dict[str, Denial] = field(default_factory=dict)
    tokens: Tokens = field(default_factory=Tokens)
    cost_usd: float = 0.0
    session: str = ""
    rejected: tuple[str, int | None] | None = None

    @property
    def final(self) -> str | None:
        """The final text."""
        return self.text if self.result is None else self.result

    def error(self, text: str) -> None:
        """Notes an error text."""
        if text.strip() and len(self.errors) < MOST:
            self.errors.append(text[-LONGEST:])

    def deny(self, denial: Denial) -> None:
        """Notes a denial once."""
        key = denial.id or f"{denial.tool} {denial.arguments}"
        if key in self.denials or len(self.denials) < MOST:
            self.denials[key] = denial


def text_of(value: object) -> str:
    """A text that every encoding takes; "" for what is no text."""
    return value[-LONGEST:].encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def count(value: object) -> int:
    """A number of tokens; 0 for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else 0


def money(value: object) -> float:
    """An amount; 0 for what is none."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
    return float(value) if good else 0.0  # type: ignore[arg-type]
