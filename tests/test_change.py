"""Edits and overwrites are told apart as people would tell them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.change import EDITED, EMPTIED, HALF, REPLACED, TOUCHED, blank, kind_of_change, survival

SPEC = """# Billing

Invoices are made on the first day of each month and sent by mail.
An invoice that is not paid within thirty days is reminded once.
After the second reminder the account is closed for new orders.

## Amounts

All amounts are stored as integers in the smallest unit of the currency.
Rounding happens once, when the invoice is made, never in reports.

## Errors

A failed payment keeps the order open and tells the customer why.
The same payment is never tried more than three times in a day.
"""
PLAN = "".join(f"- [ ] {task}\n" for task in ("parse dates", "write the report", "test leap years", "ship it", "tell people"))
OTHER = """Release notes

We changed how the importer works. It now reads files in parallel, and it
skips what it has seen. Please delete your old cache before upgrading, or the
importer will stop with a message that names the file.
"""

EDITS = {
    "appended": SPEC + "\n## Taxes\n\nTaxes are looked up by country.\n",
    "prepended": "Status: draft\n\n" + SPEC,
    "one word": SPEC.replace("thirty", "forty"),
    "a letter everywhere": SPEC.replace("o", "0"),
    "one line out": SPEC.replace("After the second reminder the account is closed for new orders.\n", ""),
    "a section out": SPEC[: SPEC.index("## Errors")],
    "sections swapped": SPEC[SPEC.index("## Amounts") :] + SPEC[: SPEC.index("## Amounts")],
    "line ends": SPEC.replace("\n", "\r\n"),
    "indented": "".join("    " + line for line in SPEC.splitlines(keepends=True)),
    "blank lines out": SPEC.replace("\n\n", "\n"),
    "names changed": SPEC.replace("invoice", "bill").replace("Invoice", "Bill"),
    "much longer": SPEC + OTHER * 20,
}
OVERWRITES = {
    "one line": "todo\n",
    "other text": OTHER,
    "its title only": "# Billing\n\nTo be written.\n",
    "a summary": "# Billing\n\nInvoices go out monthly; unpaid ones are reminded twice.\n",
    "numbers": "".join(f"{n}\n" for n in range(400)),
    "a program": "import os\n\nfor name in os.listdir('.'):\n    print(name)\n",
    "binary": "\0\1\2" * 300,
}


@pytest.mark.parametrize("name", EDITS)
def test_edits_keep_most(name: str) -> None:
    assert survival(SPEC.encode(), EDITS[name].encode()) > 0.6
    assert kind_of_change(SPEC.encode(), EDITS[name].encode()) == EDITED


@pytest.mark.parametrize("name", OVERWRITES)
def test_overwrites_keep_little(name: str) -> None:
    assert survival(SPEC.encode(), OVERWRITES[name].encode()) <= 0.4
    assert kind_of_change(SPEC.encode(), OVERWRITES[name].encode()) == REPLACED


def test_ticking_boxes_is_an_edit() -> None:
    assert kind_of_change(PLAN.encode(), PLAN.replace("[ ]", "[x]").encode()) == EDITED


def test_a_plan_for_something_else_replaces() -> None:
    new = "".join(f"- [ ] {task}\n" for task in ("buy milk", "feed cat", "sleep"))
    assert kind_of_change(PLAN.encode() * 5, new.encode()) == REPLACED


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (b"a", b"a", TOUCHED),
        (b"", b"", TOUCHED),
        (b"a", b"", EMPTIED),
        (b"a", b" \t\r\n\0\0", EMPTIED),
        (b"", b"a", EDITED),
        (b" \n", b"", EDITED),
        (b"\0\0", b"text", EDITED),
        (b"a\n", b"b\n", REPLACED),
        (b"\xff\xfe" * 40, b"\xff\xfe" * 40 + b"x", EDITED),
    ],
)
def test_kinds(old: bytes, new: bytes, kind: str) -> None:
    assert kind_of_change(old, new) == kind


def test_binary_content_is_compared_by_blocks() -> None:
    blocks = [bytes([n]) * 63 + b"\0" for n in range(10)]
    assert survival(b"".join(blocks), b"".join(blocks[:7])) == pytest.approx(0.7)
    assert survival(b"".join(blocks), b"".join(reversed(blocks))) == 1.0


def test_a_line_counts_as_often_as_it_stands_there() -> None:
    assert survival(b"same line here\n" * 100, b"same line here\n") < 0.1


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_survival_is_a_share(old: bytes, new: bytes) -> None:
    assert 0.0 <= survival(old, new) <= 1.0
    assert survival(old, old) == 1.0
    assert kind_of_change(old, new) in (TOUCHED, EMPTIED, REPLACED, EDITED)


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_what_is_added_behind_a_line_end_takes_nothing_away(old: bytes, more: bytes) -> None:
    if b"\0" not in old + more and not blank(old):
        assert survival(old, old + b"\n" + more) == 1.0


def test_large_files_are_compared_in_time() -> None:
    start = time.process_time()
    old = b"".join(b"line %d of the old file\n" % n for n in range(40_000))
    new = b"".join(b"line %d of the new file\n" % n for n in range(40_000))
    assert survival(old, new) < HALF
    assert survival(b"a" * 1024, b"a" * 1023 + b"b") > HALF
    survival(old[:60_000], new[:60_000])
    assert time.process_time() - start < 2
