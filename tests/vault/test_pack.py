"""Packs give back what was put in, or say that they cannot."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.vault.content import digest_of
from guard.vault.manifest import Damaged, TooNew
from guard.vault.pack import Pack, Writer


def write(path: Path, contents: list[bytes], streams: list[list[bytes]] | None = None) -> Writer:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    writer = Writer(fd)
    for content in contents:
        writer.add(content)
    for stream in streams or []:
        writer.add_stream(stream)
    writer.finish()
    os.close(fd)
    return writer


@given(st.lists(st.binary(max_size=200), max_size=6), st.lists(st.lists(st.binary(max_size=50)), max_size=4))
def test_contents_come_back(tmp_path_factory: pytest.TempPathFactory, contents: list[bytes], streams: list[list[bytes]]) -> None:
    path = tmp_path_factory.mktemp("pack") / "a.pack"
    write(path, contents, streams)
    pack = Pack(str(path))
    for content in contents + [b"".join(stream) for stream in streams]:
        assert b"".join(pack.read(digest_of([content]))) == content


def test_equal_contents_are_kept_once(tmp_path: Path) -> None:
    writer = write(tmp_path / "a.pack", [os.urandom(5000)], [])
    size = (tmp_path / "a.pack").stat().st_size
    data = b"".join(Pack(str(tmp_path / "a.pack")).read(next(iter(writer.places))))
    write(tmp_path / "b.pack", [data, data], [[data], [data[:9], data[9:]]])
    assert (tmp_path / "b.pack").stat().st_size == size


def test_a_stream_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> object:
        yield b"x" * 100
        raise RuntimeError

    fd = os.open(tmp_path / "a.pack", os.O_RDWR | os.O_CREAT)
    writer = Writer(fd)
    writer.add(b"first")
    with pytest.raises(RuntimeError):
        writer.add_stream(broken())  # type: ignore[arg-type]
    writer.add(b"second")
    writer.finish()
    os.close(fd)
    pack = Pack(str(tmp_path / "a.pack"))
    assert {b"".join(pack.read(digest)) for digest in pack.places} == {b"first", b"second"}


def test_every_altered_byte_of_a_content_is_noticed(tmp_path: Path) -> None:
    writer = write(tmp_path / "a.pack", [os.urandom(40), b"text " * 50])
    whole = (tmp_path / "a.pack").read_bytes()
    for digest, place in writer.places.items():
        for at in range(place.offset, place.offset + place.stored):
            data = bytearray(whole)
            data[at] ^= 1
            (tmp_path / "b.pack").write_bytes(data)
            with pytest.raises(Damaged):
                list(Pack(str(tmp_path / "b.pack")).read(digest))


def test_torn_altered_and_newer_packs_are_not_opened(tmp_path: Path) -> None:
    write(tmp_path / "a.pack", [b"x" * 100])
    whole = (tmp_path / "a.pack").read_bytes()
    for length in range(len(whole)):
        (tmp_path / "b.pack").write_bytes(whole[:length])
        with pytest.raises(Damaged):
            Pack(str(tmp_path / "b.pack"))
    (tmp_path / "c.pack").write_bytes(whole.replace(b"guard pack 1", b"guard pack 2"))
    with pytest.raises(TooNew):
        Pack(str(tmp_path / "c.pack"))


def test_large_contents_are_streamed(tmp_path: Path) -> None:
    piece = bytes(1 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    write(tmp_path / "a.pack", [], [[piece] * 200])
    pack = Pack(str(tmp_path / "a.pack"))
    assert sum(map(len, pack.read(next(iter(pack.places))))) == 200 << 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000
