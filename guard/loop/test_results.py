"""Test results: what one program's output has told of its tests so far."""

from __future__ import annotations

from dataclasses import dataclass, field

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
NAMES = 20_000  # names that are remembered of one program
_NAME = 500  # characters of a name


@dataclass
class Counts:
    """Numbers of tests."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, state: str, count: int = 1) -> None:
        """Counts some more."""
        setattr(self, state, getattr(self, state) + count)

    def plus(self, other: Counts) -> Counts:
        """The sum of both."""
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    @property
    def total(self) -> int:
        """All of them."""
        return self.passed + self.failed + self.skipped


@dataclass
class Told:
    """Names with their states, and what the program sums up. `summed` is None where it has not."""

    names: dict[str, str] = field(default_factory=dict)
    summed: Counts | None = None
    beyond: Counts = field(default_factory=Counts)  # tests that were named, but for which there was no room
    _equals: dict[str, int] = field(default_factory=dict)

    def name(self, name: str, state: str) -> None:
        """Notes the result of a test. It may be named more than once; a failure stays one."""
        name = name[:_NAME]
        if name in self.names or len(self.names) < NAMES:
            self.names[name] = FAILED if self.names.get(name) == FAILED else state
        else:
            self.beyond.add(state)

    def another(self, name: str, state: str) -> str:
        """Notes the result of one more test, which may be called like one before; gives what it is called here."""
        name = name[:_NAME]
        if len(self.names) >= NAMES:
            self.beyond.add(state)
            return name
        count = self._equals[name] = self._equals.get(name, 0) + 1
        name = name if count == 1 else f"{name} ({count})"
        self.name(name, state)
        return name

    def sum(self, passed: int, failed: int, skipped: int) -> None:
        """Adds what the program sums up."""
        self.summed = (self.summed or Counts()).plus(Counts(passed, failed, skipped))

    def named(self) -> Counts:
        """The numbers of the tests that were named."""
        found = Counts()
        for state in self.names.values():
            found.add(state)
        return found.plus(self.beyond)

    def counts(self) -> Counts:
        """The numbers: what the program sums up, else the tests that it named."""
        return self.summed or self.named()
