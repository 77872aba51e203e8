"""Extraction: what unpacking an archive does to the files that stand where its members go."""

from __future__ import annotations

import time

from guard.effects import DELETE, LINK, OVERWRITE, At, Pattern, Text
from guard.overlay import DIRECTORY, SYMLINK
from guard.paths import parent
from guard.tools.changes import Changes, encoded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NamedTuple

    from guard.tools.call import Call
else:
    from guard.record import NamedTuple

SECONDS = 0.2  # for reading one archive
MEMBERS = 20_000
SIZE = 32 << 20  # bytes of an archive that is still read
_CONTENT = 1 << 20  # bytes of a member whose content is still taken

FILE_MEMBER, DIRECTORY_MEMBER, LINK_MEMBER, OTHER_MEMBER = "file", "directory", "link", "other"


class Member(NamedTuple):
    """One entry of an archive. `content` reads it, None where that is not possible; `to` is where a symbolic link points."""

    name: str
    kind: str
    to: str = ""
    time: float = 0.0
    content: Callable[[], bytes | None] | None = None


def archive_bytes(call: Call, archive: Text) -> bytes | None:
    """The archive itself, "-" being standard input; None where it cannot be read."""
    if archive == "-":
        return encoded(call.stdin) if isinstance(call.stdin, str) else None
    path = call.where(archive)
    if path is None:
        return None
    node = call.view.lookup(path)
    if node.base is None or node.kind not in ("file", "real"):
        return node.content
    return call.view.world.read(node.base, SIZE)


def members(data: bytes | None) -> list[Member] | None:
    """What is in an archive, tar (compressed or not) or zip; None where that cannot be told in time."""
    if data is None:
        return None
    if data.startswith(b"!<arch>\n"):
        return _ar_members(data)
    try:
        return _zip_members(data) if data.startswith((b"PK\3\4", b"PK\5\6")) else _tar_members(data)
    except MemoryError:
        return None


def _late(begin: float, count: int) -> bool:
    return time.monotonic() - begin > SECONDS or count > MEMBERS


def _tar_members(data: bytes) -> list[Member] | None:
    import io
    import tarfile

    begin = time.monotonic()
    found: list[Member] = []
    try:
        with tarfile.open(fileobj=io.BytesIO(data), errorlevel=0) as archive:
            opened = archive
            for item in archive:
                if _late(begin, len(found)):
                    return None
                if item.isdir() or item.issym():
                    kind = DIRECTORY_MEMBER if item.isdir() else LINK_MEMBER
                else:
                    kind = FILE_MEMBER if item.isreg() or item.islnk() else OTHER_MEMBER
                content = _tar_content(opened, item) if item.isreg() and item.size <= _CONTENT else None
                found.append(Member(item.name, kind, item.linkname, float(item.mtime), content))
            if not found and data.strip(b"\0"):
                return None
            return [member._replace(content=_kept(member.content)) for member in found] if len(found) <= 200 else _bare(found)
    except (tarfile.TarError, OSError, EOFError, ValueError, KeyError, ImportError, OverflowError):
        return None
    except Exception as error:  # decompressors raise errors of their own, such as zlib.error and LZMAError
        if type(error).__module__ in ("zlib", "_lzma", "_bz2"):
            return None
        raise


def _bare(found: list[Member]) -> list[Member]:
    return [member._replace(content=None) for member in found]


def _kept(content: Callable[[], bytes | None] | None) -> Callable[[], bytes | None] | None:
    """The content read now, as the archive closes."""
    if content is None:
        return None
    data = content()
    return lambda: data


def _tar_content(archive: object, item: object) -> Callable[[], bytes | None]:
    def read() -> bytes | None:
        try:
            file = archive.extractfile(item)  # type: ignore[attr-defined]
            return file.read() if file else None
        except Exception:  # a damaged member: its content is not known
            return None

    return read


def _zip_members(data: bytes) -> list[Member] | None:
    import io
    import stat
    import zipfile

    begin = time.monotonic()
    found: list[Member] = []
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        for item in archive.infolist():
            if _late(begin, len(found)):
                return None
            mode = item.external_attr >> 16
            kind = DIRECTORY_MEMBER if item.is_dir() else LINK_MEMBER if stat.S_ISLNK(mode) else FILE_MEMBER
            moment = _zip_time(item.extra) or time.mktime((*item.date_time, 0, 0, -1))
            read = _zip_content(archive, item) if item.file_size <= _CONTENT else None
            to = (read() or b"").decode("utf-8", "surrogateescape") if kind == LINK_MEMBER and read else ""
            found.append(Member(item.filename, kind, to, moment, read))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, OverflowError, ImportError):
        return None
    return found


def _zip_time(extra: bytes) -> float | None:
    """The time of a member in seconds, where its extra field "UT" has it."""
    at = extra.find(b"UT")
    return (
        float(int.from_bytes(extra[at + 5 : at + 9], "little"))
        if at >= 0 and len(extra) >= at + 9 and extra[at + 4] & 1
        else None
    )


def _zip_content(archive: object, item: object) -> Callable[[], bytes | None]:
    def read() -> bytes | None:
        try:
            data: bytes = archive.read(item)  # type: ignore[attr-defined]
        except Exception:  # a damaged or encrypted member: its content is not known
            return None
        return data

    return read


def _ar_members(data: bytes) -> list[Member] | None:
    found: list[Member] = []
    names = b""
    at = 8
    while at + 60 <= len(data):
        head = data[at : at + 60]
        try:
            size = int(head[48:58])
        except ValueError:
            return None
        body = data[at + 60 : at + 60 + size]
        name = head[:16].rstrip()
        if name == b"//":
            names = body
        elif name[:1] == b"/" and name[1:].isdigit():
            name = names[int(name[1:]) :].partition(b"\n")[0]
        if name not in (b"/", b"//", b"/SYM64/"):
            shown = name.rstrip(b"/").decode("utf-8", "surrogateescape")
            found.append(Member(shown, FILE_MEMBER, content=lambda body=body: body))  # type: ignore[misc]
        at += 60 + size + size % 2
    return found


class Extraction:
    """Members put below a directory. `replaces` says whether existing files give way; `through` whether links are followed."""

    def __init__(self, changes: Changes, directory: Text, through: bool = False) -> None:
        self.changes = changes
        self.directory = directory
        self.through = through
        self.certain = True

    def unknown(self) -> None:
        """An archive that cannot be read may replace anything below the directory."""
        self.changes.add(OVERWRITE, self.changes.call.somewhere(self.directory), certain=False)

    def place(self, name: str) -> At | None:
        """Where a member goes; None where nobody knows."""
        base = self.changes.call.path(self.directory)
        if isinstance(base, Pattern):
            return None
        path = f"{base}/{name}"
        view = self.changes.view
        return At(view.through(path) if self.through else view.at(path.rstrip("/")))

    def existing(self, name: str) -> bool:
        """True when something stands in a member's place."""
        place = self.place(name)
        return place is not None and self.changes.view.kind(place.path) is not None

    def put(self, member: Member, name: str, keep_link: bool = False) -> None:
        """Puts one member under a name, in the place of what is there."""
        place = self.place(name)
        if place is None:
            return
        kind = self.changes.view.kind(place.path)
        if member.kind == DIRECTORY_MEMBER:
            if kind == SYMLINK and keep_link:
                return
            if kind is not None and kind != DIRECTORY:
                self.changes.add(DELETE, place, self.certain)
            self.changes.make_dirs(place.path)
            return
        if kind == DIRECTORY:
            if self.changes.view.listdir(place.path) == []:
                self.changes.add(DELETE, place, self.certain)
            else:
                return
        if not self.changes.view.is_dir(parent(place.path)) and not self.changes.make_dirs(parent(place.path)):
            return
        if member.kind == LINK_MEMBER:
            self.changes.add(LINK, place, self.certain, to=member.to)
        else:
            content = member.content() if member.content and (kind is not None or len(self.changes.found) < 200) else None
            self.changes.replace(place, content, certain=self.certain)


def safe_name(name: str, absolute: bool = False) -> str | None:
    """A member's name as it is unpacked: without leading slashes; None for one that would climb out."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts and not absolute:
        return None
    return ("/" if absolute and name.startswith("/") else "") + "/".join(parts)
