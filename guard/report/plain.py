"""The report as text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from guard.report.section import Section
from guard.report.summary import Summary


def text(summary: Summary) -> str:
    """For a terminal."""
    lines = [summary.title, summary.period, "", *(f"  {label:16} {value}" for label, value in summary.tiles)]
    lines += [f"! {note}" for note in summary.notes]
    for section in summary.sections:
        lines += ["", section.title, *_columns(section)]
    return "\n".join(lines) + "\n"


def markdown(summary: Summary) -> str:
    """For a wiki or an issue."""
    lines = [f"# {_plain(summary.title)}", "", summary.period, ""]
    lines += [f"- {label}: **{value}**" for label, value in summary.tiles]
    lines += [f"\n> {note}" for note in summary.notes]
    for section in summary.sections:
        lines += ["", f"## {section.title}", ""]
        if not section.rows:
            lines.append(section.empty)
            continue
        lines += [
            _row(section.columns),
            _row(tuple("---:" if at in section.numbers else "---" for at in range(len(section.columns)))),
        ]
        lines += [_row(tuple(map(_plain, row))) for row in section.rows]
    return "\n".join(lines) + "\n"


def _columns(section: Section) -> Iterator[str]:
    if not section.rows:
        yield f"  {section.empty}"
        return
    widths = [max(len(row[at]) for row in section.rows) for at in range(len(section.columns))]
    for row in section.rows:
        cells = [
            each.rjust(size) if at in section.numbers else each.ljust(size)
            for at, (each, size) in enumerate(zip(row, widths, strict=True))
        ]
        yield f"  {'  '.join(cells)}".rstrip()


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """A text that Markdown shows as it is."""
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]<>|#" else letter for letter in text)
