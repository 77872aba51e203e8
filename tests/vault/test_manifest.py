"""A manifest comes back as it was written, and what is torn, altered or newer is told apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.change import DIRECTORY, FILE, LINK, Entry
from guard.vault.manifest import Damaged, GitState, Head, Manifest, TooNew

HEAD = Head(
    "20260101-000000-000aaaa", "/home/u/app", 1.5, 7, "snapshot", "0000abcd", GitState("refs/heads/m", "c" * 40, ("c" * 40,))
)
texts = (
    st.binary(min_size=1, max_size=20)
    .map(lambda raw: raw.replace(b"\0", b"x").replace(b"/", b"y"))
    .map(lambda raw: raw.decode("utf-8", "surrogateescape"))
)
numbers = st.integers(0, (1 << 63) - 1)
entries = st.builds(
    Entry,
    path=texts.map(lambda name: "/home/u/app/d" + name),
    level=st.sampled_from(["", "keep", "lock", "present"]),
    kind=st.sampled_from([FILE, DIRECTORY, LINK, "fifo", "socket", "device"]),
    mode=st.integers(0, 0o177777),
    size=numbers,
    mtime=st.integers(-(1 << 62), 1 << 62),
    ctime=numbers,
    device=st.integers(0, (1 << 64) - 1),
    inode=st.integers(0, (1 << 64) - 1),
    user=st.integers(0, (1 << 32) - 1),
    group=st.integers(0, (1 << 32) - 1),
    digest=st.sampled_from([b"", b"d" * 32]),
    link=texts,
    rewrite=st.booleans(),
)


@given(st.lists(entries, max_size=5))
def test_what_is_written_is_read(rows: list[Entry]) -> None:
    found = Manifest.load(Manifest.of(HEAD, rows).dump())
    assert list(found) == rows
    assert found.head == HEAD


def test_paths_outside_of_the_root_and_the_root_itself() -> None:
    rows = [Entry(path, "keep", FILE, *[0] * 8) for path in ("/home/u/app", "/home/u/app/x", "/home/u/appendix", "/else/where")]
    assert list(Manifest.load(Manifest.of(HEAD, rows).dump())) == rows


def test_a_root_of_everything() -> None:
    rows = [Entry(path, "keep", FILE, *[0] * 8) for path in ("/", "/a", "/b/c")]
    head = Head("n", "/", 0, 0)
    assert list(Manifest.load(Manifest.of(head, rows).dump())) == rows


@given(st.integers(0, 2000), st.integers(1, 255))
def test_every_altered_byte_is_noticed(at: int, change: int) -> None:
    data = bytearray(Manifest.of(HEAD, [Entry("/home/u/app/x", "keep", FILE, *[1] * 8, b"d" * 32)]).dump())
    data[at % len(data)] ^= change
    with pytest.raises((Damaged, TooNew)):
        Manifest.load(bytes(data))


@pytest.mark.parametrize("length", range(0, 400, 13))
def test_a_torn_manifest_is_damaged(length: int) -> None:
    data = Manifest.of(HEAD, [Entry("/home/u/app/x", "keep", FILE, *[1] * 8)]).dump()
    with pytest.raises(Damaged):
        Manifest.load(data[: min(length, len(data) - 1)])


def test_a_later_version_is_no_damage() -> None:
    with pytest.raises(TooNew):
        Manifest.load(b"guard manifest 2\nwhatever")
