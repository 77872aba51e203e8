"""The tool models: for each command name, the function that says what an argument vector does.

A model is `def NAME(call: Call) -> Analysis`. It lives in the module of its family and is imported when first needed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from guard.effects import Analysis
    from guard.tools.call import Call

    Tool = Callable[[Call], Analysis]

# command name -> "module.function" below guard.tools
TABLE: dict[str, str] = {}


def find(name: str) -> Tool | None:
    """The model of a command, by the last component of its name; None for a program that guard has no model of."""
    where = TABLE.get(name)
    if where is None:
        return None
    module, _, function = where.rpartition(".")
    tool: Tool = getattr(__import__(f"guard.tools.{module}", fromlist=[function]), function)
    return tool
