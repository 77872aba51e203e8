"""scp, and names on other machines."""

from __future__ import annotations

from guard.effects import OVERWRITE, Pattern, Text
from guard.tools.answers import Answers
from guard.tools.changes import Changes
from guard.tools.copy import Way, copy
from guard.tools.options import Table, parse
from guard.tools.places import Backup, Clobber, Pair, into

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Analysis
    from guard.tools.call import Call


SCP = Table(flags="346ABCOpqRrsTv", values="cDFiJloPSX")


def scp(call: Call) -> Analysis:
    """scp: what arrives on this machine; what is sent away harms nothing here."""
    options = parse(call.argv[1:], SCP)
    if len(options.operands) < 2 or remote(options.operands[-1]):
        return Changes(call).result()._replace(status=None)
    *sources, last = options.operands
    changes = Changes(call)
    rules = Clobber("yes", False, Answers(None))
    way = Way(options.has("r"), "always", rules, Backup("none", "~"))
    for source in sources:
        far = remote(source)
        place = into(last, source) if changes.call.is_dir(last) else last
        if not far:
            copy(changes, Pair(source, place), way)
        elif way.recursive or isinstance(source, Pattern) or set(str(source)) & set("*?[{$`"):
            changes.add(OVERWRITE, changes.call.somewhere(last), certain=False)
        elif changes.call.is_dir(last):
            changes.write(changes.opened(into(last, str(source).partition(":")[2])))
        else:
            changes.write(changes.opened(place))
    return changes.result()._replace(status=None)


def remote(operand: Text) -> bool:
    """True for a name on another machine: host:path, user@host:path, scp://, rsync://."""
    text = operand if isinstance(operand, str) else operand.prefix
    before, colon, _ = text.partition(":")
    return bool(colon) and "/" not in before and before != ""
