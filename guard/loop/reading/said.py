"""What an agent's output has said so far: the values that the readers of all clients fill."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from guard.loop.facts import Tokens

FAILURE, TURNS, MONEY, PROMPT = "error", "turns", "money", "prompt"
MOST = 200  # denials and error texts that are kept
PENDING = 1000  # tool calls without a result that are kept
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
        return text_of(value) if self.tool in SHELLS and isinstance(value, str) else None


SHELLS = ("Bash", "bash", "run_shell_command", "shell", "Shell", "exec_command", "local_shell")


@dataclass
class Said:
    """`text` is the agent's last own message, `result` the client's word for what the final text is; None: not said.

    `failure` is "", error, turns, money or prompt; `status` an HTTP status or a word for it; `rejected` the kind of limit whose
    event came without a success after it, and when it ends (UTC milliseconds); `quota`: the client says by a code of its own
    that a limit is used up. `goes_on`: the tokens are those of the whole session, also of calls that it was resumed from.
    `calls` are tool calls whose result is still to come, by their id.
    """

    known: bool = False  # something of the client's form was read
    text: str | None = None
    result: str | None = None
    failure: str = ""
    errors: list[str] = field(default_factory=list)
    status: str = ""
    quota: bool = False
    asked: bool = False
    denials: dict[str, Denial] = field(default_factory=dict)
    calls: dict[str, Denial] = field(default_factory=dict)
    tokens: Tokens = field(default_factory=Tokens)
    cost_usd: float = 0.0
    goes_on: bool = False
    session: str = ""
    rejected: tuple[str, int | None] | None = None
    qwen: bool = False  # what has Claude Code's form comes from Qwen Code

    @property
    def final(self) -> str | None:
        """The final text."""
        return self.text if self.result is None else self.result

    def error(self, text: str) -> None:
        """Notes an error text."""
        if text.strip() and len(self.errors) < MOST and text[-LONGEST:] not in self.errors:
            self.errors.append(text[-LONGEST:])

    def failed(self, text: str, kind: str = FAILURE) -> None:
        """Notes that the call failed, and the error text that says so."""
        self.failure = kind
        self.error(text)

    def went_well(self) -> None:
        """Notes that whatever went wrong before was got over."""
        self.failure, self.status, self.quota = "", "", False
        self.errors.clear()

    def call(self, tool: object, arguments: object, id: object) -> None:
        """Notes a tool call, so that a denial that only names its id can be told."""
        key = text_of(id)
        if not key:
            return
        if len(self.calls) >= PENDING:
            del self.calls[next(iter(self.calls))]
        self.calls[key] = Denial(text_of(tool), arguments if isinstance(arguments, dict) else {}, key)

    def ended(self, id: object) -> Denial:
        """The tool call of this id, whose result has come."""
        key = text_of(id)
        return self.calls.pop(key, Denial("", {}, key))

    def deny(self, denial: Denial) -> None:
        """Notes a denial once; of two that tell of one call, the one that says more counts."""
        key = denial.id or f"{denial.tool} {denial.arguments}"
        known = self.denials.get(key)
        if known is not None and known.arguments and not denial.arguments:
            return
        if known is not None or len(self.denials) < MOST:
            self.denials[key] = denial


def text_of(value: object) -> str:
    """A text that every encoding takes; "" for what is no text."""
    return value[-LONGEST:].encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def inner(value: object) -> dict[str, Any]:
    """An object; {} for what is none."""
    return value if isinstance(value, dict) else {}


def message_of(error: object) -> str:
    """The text of an error object, whichever way it is nested."""
    while isinstance(error, dict):
        error = error.get("message") or error.get("data") or error.get("error") or error.get("name")
    return text_of(error)


def http(value: object) -> str:
    """An HTTP status that says that something went wrong; "" for anything else."""
    good = isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600
    return str(value) if good else ""


def count(value: object) -> int:
    """A number of tokens; 0 for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else 0


def money(value: object) -> float:
    """An amount; 0 for what is none."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
    return float(value) if good else 0.0  # type: ignore[arg-type]
