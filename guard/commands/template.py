"""The text of a new guard.toml, with what of the built-in list is there."""

from __future__ import annotations

import os

from guard.builtin_rules import LISTS

TEMPLATE = """\
# What must survive here. People edit this file, agents may not. Patterns are .gitignore patterns, relative
# to this file; the last match wins, "!" takes a path out again.       See the result: guard list

[protect]
builtin = true                # the built-in list, of which there is here now: {here}
keep = [                      # may be edited and added to; never deleted, emptied, moved out or thrown back
    # "/docs/decisions/",
    # "!/specs/generated/",   # rebuilt by make
]
# lock    = ["/migrations/"]  # may not change at all
# present = ["/data/"]        # must stay; what is below may come and go

# [[except]]                  # a task that may do what the lists forbid, spelled exactly
# command = "make specs"
# paths   = ["/specs/old/"]
# reason  = "regenerated"
# expires = 2030-01-31

[answer]
unknown  = "ask"              # where nobody can be asked: deny
branches = "follow"           # committed files may leave with a branch; "pin": that is a loss too
"""


def text(root: str) -> str:
    """The text of a new guard.toml for a project."""
    globs = [glob for names in (LISTS["keep"], LISTS["present"][:1]) for glob in names if not glob.startswith("!")]
    here = [glob for glob in globs if os.path.lexists(root + glob.rstrip("/"))]
    return TEMPLATE.format(here=" ".join(here) or "nothing")
