"""The report as one HTML file: nothing is loaded from elsewhere, no script runs, and it can be printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

from guard.report.section import Section
from guard.report.summary import Summary

WIDTH, HEIGHT = 480, 120
LEFT, BOTTOM = 46, 22
BADGES = {"met": "met", "missed": "missed", "no data": "none"}  # how a verdict looks
SHORT = 14  # letters of a cell that is not broken
STYLE = Path(__file__).with_name("style.css")


def html(summary: Summary) -> str:
    """The whole page."""
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(summary.title)}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<style>{STYLE.read_text()}</style></head><body>",
        f'<header><h1>{escape(summary.title)}</h1><p class="dim">{escape(summary.period)}</p></header><main>',
        *_verdict(summary),
        '<div class="tiles">',
        *(f'<div class="tile"><b>{escape(value)}</b>{escape(label)}</div>' for label, value in summary.tiles),
        "</div>",
        *(f'<p class="bad">{escape(note)}</p>' for note in summary.notes),
        '<div class="figures">',
        *_figures(summary),
        "</div>",
        *(text for section in summary.sections if not section.short for text in _section(section)),
        '<div class="pairs">',
        *(text for section in summary.sections if section.short for text in _section(section)),
        "</div>",
        "</main></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _verdict(summary: Summary) -> Iterator[str]:
    """One line on top: how many objectives are met, and which are not."""
    judged = [one for one in summary.measures if one.met is not None]
    missed = [one.name for one in judged if not one.met]
    if not judged:
        return
    told = f"{len(judged) - len(missed)} of {len(judged)} objectives met"
    rest = f"; missed: {', '.join(missed)}" if missed else ""
    yield f'<p class="verdict {"missed" if missed else "met"}"><b>{told}</b>{escape(rest)}</p>'


def _section(section: Section) -> Iterator[str]:
    yield f"<section><h2>{escape(section.title)}</h2>"
    if section.note:
        yield f'<p class="dim">{escape(section.note)}</p>'
    if not section.rows:
        yield f'<p class="dim">{escape(section.empty)}</p></section>'
        return
    yield '<div class="scroll"><table><thead><tr>' + "".join(map(_head, section.columns, _aligned(section)))
    yield "</tr></thead><tbody>"
    for row in section.rows:
        yield "<tr>" + "".join(_cell(text, at in section.numbers, section.short) for at, text in enumerate(row)) + "</tr>"
    yield "</tbody></table></div></section>"


def _aligned(section: Section) -> Iterator[str]:
    """Where the head of each column stands."""
    return (
        (' class="n"' if at in section.numbers and not (section.short and at == 2) else "") for at in range(len(section.columns))
    )


def _head(text: str, aligned: str) -> str:
    return f'<th scope="col"{aligned}>{escape(text)}</th>'


def _cell(text: str, number: bool, share: bool) -> str:
    if text in BADGES:
        return f'<td class="short"><span class="badge {BADGES[text]}">{text}</span></td>'
    if share and text.endswith(" %"):
        bar = f'<rect width="{text[:-2]}" height="8"/>'
        return f'<td class="bar"><svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-label="{text}">{bar}</svg></td>'
    words = [*(["n"] if number else []), *(["short"] if len(text) <= SHORT else [])]
    return f'<td class="{" ".join(words)}">{escape(text)}</td>' if words else f"<td>{escape(text)}</td>"


def _figures(summary: Summary) -> Iterator[str]:
    for figure in summary.figures:
        if len(figure.values) < 2:
            continue
        label = f"{figure.title}: {len(figure.values)} iterations, from {figure.values[0]:g} to {figure.values[-1]:g}"
        yield f'<figure><figcaption>{escape(figure.title)}</figcaption><svg role="img" aria-label="{escape(label)}"'
        yield f' viewBox="0 0 {WIDTH} {HEIGHT + BOTTOM}">{"".join(_plot(figure.values, figure.marks))}</svg></figure>'


def _plot(values: Sequence[float], marks: Iterable[int]) -> Iterator[str]:
    low, high = min(0.0, *values), max(0.0, *values)
    span, count = (high - low) or 1.0, len(values)

    def x(at: float) -> float:
        return round(LEFT + at * (WIDTH - LEFT - 6) / max(1, count - 1), 1)

    def y(value: float) -> float:
        return round(6 + (high - value) * (HEIGHT - 12) / span, 1)

    for value in sorted({low, 0.0, high}):
        yield f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y(value)}" y2="{y(value)}" stroke="var(--rule)"/>'
        yield f'<text x="{LEFT - 6}" y="{y(value) + 4}" text-anchor="end">{value:g}</text>'
    line = [(x(at), y(value)) for at, value in _thinned(values)]
    points = " ".join(f"{left},{top}" for left, top in line)
    yield f'<polygon fill="var(--line)" opacity=".12" points="{line[0][0]},{y(0.0)} {points} {line[-1][0]},{y(0.0)}"/>'
    for at in marks:
        yield f'<line x1="{x(at)}" x2="{x(at)}" y1="0" y2="{HEIGHT}" stroke="var(--bad)" stroke-dasharray="3 3"/>'
    yield f'<polyline fill="none" stroke="var(--line)" stroke-width="1.6" stroke-linejoin="round" points="{points}"/>'
    yield f'<text x="{LEFT}" y="{HEIGHT + 16}">1</text>'
    yield f'<text x="{WIDTH}" y="{HEIGHT + 16}" text-anchor="end">{count}</text>'


def _thinned(values: Sequence[float], most: int = 700) -> Iterator[tuple[int, float]]:
    """The points that can be told apart at this width: of each step its lowest and its highest."""
    step = max(1, len(values) * 2 // most)
    for start in range(0, len(values), step):
        part = list(enumerate(values[start : start + step], start))
        yield from sorted({min(part, key=lambda one: one[1]), max(part, key=lambda one: one[1])})
