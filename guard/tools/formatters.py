"""Formatters and rewriters of source text: they edit the files that they are given.

Directories are not searched: what a formatter changes there are edits of its own kind of file, and edits are no loss.
"""

from __future__ import annotations

from guard.effects import EDIT, At, unknown
from guard.overlay import FILE
from guard.tools.changes import Changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from guard.effects import Analysis
    from guard.tools.call import Call
else:
    from guard.record import NamedTuple


class Row(NamedTuple):
    """When a formatter writes: one of `needs` is given (none: always), none of `stops`, and the first word is one of `verbs`."""

    needs: frozenset[str] = frozenset()
    stops: frozenset[str] = frozenset()
    verbs: tuple[str, ...] = ()


def _row(needs: str = "", stops: str = "", verbs: str = "") -> Row:
    return Row(frozenset(needs.split()), frozenset(stops.split()), tuple(verbs.split()))


CHECK = "--check --diff -c --check-only --stdout --dry-run"
TABLE: dict[str, Row] = {
    "alejandra": _row(stops=CHECK), "ast-grep": _row("-U --update-all"), "astyle": _row(stops="--dry-run --stdin"),
    "autoflake": _row("-i --in-place"), "autopep8": _row("-i --in-place"), "biome": _row("--write --fix --apply -w"),
    "black": _row(stops=CHECK), "clang-format": _row("-i"), "clang-tidy": _row("-fix --fix -fix-errors"),
    "codespell": _row("-w --write-changes"),
    "deno": _row(stops=CHECK, verbs="fmt"), "djlint": _row("--reformat"), "docformatter": _row("-i --in-place"),
    "doctoc": _row(stops="-s"),
    "dprint": _row(verbs="fmt"), "eslint": _row("--fix"), "fantomas": _row(stops=CHECK), "gofmt": _row("-w"),
    "gofumpt": _row("-w"),
    "goimports": _row("-w"), "google-java-format": _row("-i -r --replace"), "isort": _row(stops=CHECK),
    "ktlint": _row("-F --format"),
    "markdownlint": _row("-f --fix"), "markdownlint-cli2": _row("--fix"), "mdformat": _row(stops=CHECK),
    "nixfmt": _row(stops=CHECK),
    "nixpkgs-fmt": _row(stops=CHECK), "ocamlformat": _row("-i --inplace"), "oxlint": _row("--fix"),
    "php-cs-fixer": _row(stops=CHECK, verbs="fix"),
    "prettier": _row("--write -w"), "prettierd": _row("--write"), "pyupgrade": _row(), "remark": _row("-o --output"),
    "rpl": _row(stops="-s -x"),
    "rubocop": _row("-a -A --auto-correct --autocorrect -x --autocorrect-all"), "ruff": _row(stops=CHECK, verbs="format"),
    "rustfmt": _row(stops=CHECK), "scalafmt": _row(stops=CHECK + " --test"), "sd": _row(stops="-p --preview"),
    "shfmt": _row("-w --write"),
    "sqlfluff": _row(verbs="fix format"), "standard": _row("--fix"), "stylelint": _row("--fix"), "stylua": _row(stops=CHECK),
    "swiftformat": _row(stops="--lint --dryrun"), "taplo": _row(stops=CHECK, verbs="fmt format"),
    "tidy": _row("-m -modify"), "typos": _row("-w --write-changes"), "uncrustify": _row("--replace --no-backup"),
    "yapf": _row("-i --in-place"),
    "xmlstarlet": _row("-L --inplace", verbs="ed"), "zig": _row(stops=CHECK, verbs="fmt"),
}  # fmt: skip


def format_files(call: Call) -> Analysis:
    """The edits of a formatter of the table, by its name."""
    changes = Changes(call)
    name = str(call.argv[0]).rpartition("/")[2]
    row = TABLE.get(name)
    words = call.argv[1:]
    flags = {word.partition("=")[0] for word in words if isinstance(word, str) and word.startswith("-")}
    shown = unknown("unknown-output", name)
    fixes = name == "ruff" and words[:1] == ("check",) and "--fix" in flags and not flags & {"--diff"}
    if row is None or not (fixes or _writes(row, flags, words[:1])):
        return changes.result(shown)._replace(status=None)
    for word in words:
        target = changes.opened(word) if not (isinstance(word, str) and word.startswith("-")) else None
        if isinstance(target, At) and changes.kind(target) == FILE:
            changes.add(EDIT, target)
    return changes.result(shown)._replace(status=None)


def _writes(row: Row, flags: set[str], first: tuple[object, ...]) -> bool:
    if row.verbs and (not first or first[0] not in row.verbs):
        return False
    letters = {"-" + letter for flag in flags if flag[:2] != "--" for letter in flag[1:]}
    return not flags & row.stops and (not row.needs or bool((flags | letters) & row.needs))
