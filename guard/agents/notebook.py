"""Notebooks: does a change of a cell leave one in which nothing stands any more?"""

from __future__ import annotations

from guard.agents.read import Malformed, payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

ENDING = ".ipynb"
CELL = ("cell_id", "cellId", "cell_number", "cell_idx", "cellIndex")
MODE = ("edit_mode", "editMode", "mode")
SOURCE = ("new_source", "newSource", "new_string", "source", "content")


def bare(content: bytes) -> bool:
    """Is it a notebook without a cell that says anything?"""
    cells = _cells(content)
    return cells is not None and not any(_says(cell) for cell in cells)


def empties(content: bytes, arguments: Mapping[str, Any]) -> bool:
    """Would the call of a tool take away the last cell of a notebook that says anything? Not where nothing said so before."""
    cells = _cells(content)
    if not cells or not any(_says(cell) for cell in cells):
        return False
    mode = next((mode for key in MODE if isinstance(mode := arguments.get(key), str)), "replace")
    source = next((text for key in SOURCE if (text := arguments.get(key)) is not None), "")
    if mode == "insert" or (mode != "delete" and str(source).strip()):
        return False
    gone = _named(cells, next((name for key in CELL if (name := arguments.get(key)) is not None), None))
    return not any(_says(cell) for number, cell in enumerate(cells) if number not in gone)


def _named(cells: list[Any], name: object) -> set[int]:
    """The numbers of the cells that a call can mean: by id, by number as clients show it, the first one without a name."""
    found = {number for number, cell in enumerate(cells) if isinstance(cell, dict) and cell.get("id") == name}
    if found or name is None:
        return found or {0}
    number = str(name).removeprefix("cell-")
    return {int(number)} if number.isdecimal() and len(number) < 9 else set()


def _says(cell: object) -> bool:
    source = cell.get("source") if isinstance(cell, dict) else None
    return bool("".join(map(str, source)).strip() if isinstance(source, list) else str(source or "").strip())


def _cells(content: bytes) -> list[Any] | None:
    """The cells; None for what is no notebook."""
    try:
        found = payload(content).get("cells")
    except Malformed:
        return None
    return found if isinstance(found, list) else None
