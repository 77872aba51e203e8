"""Bundle: the modules that judgements load in one file, since finding and reading each by itself takes most of its time.

    FILE    the code of one module after the other (marshal); the table (marshal): the interpreter, and of each module whether it
            is a package, where its code begins, and how long that is; 8 bytes: the length of the table

Only a runtime has one (runtime.py makes it). Without one that is whole and for this interpreter, modules come from files of their
own, as everywhere else. Whatever is not in the bundle does so anyway.
"""

from __future__ import annotations

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType

    Table = dict[str, tuple[bool, int, int]]  # name -> package, beginning, length

FILE = "bundle.bin"  # in the directory of the package
PARTS = ("agents", "commits", "hot", "shell", "tools", "vault")  # the packages whose modules are in it, besides those at the top
_TAIL = 8  # bytes
_READ = 1 << 15  # bytes at the end that are read at once, which hold the table


def install() -> None:
    """Has the modules of this package come from its bundle, where there is one."""
    top = os.path.dirname(__file__)
    try:
        fd = os.open(f"{top}/{FILE}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    table = _table(fd)
    if table is None:
        os.close(fd)
    else:
        sys.meta_path.insert(0, _Bundle(fd, top, table))


def packed(modules: Mapping[str, tuple[bool, CodeType]]) -> bytes:
    """The content of a bundle: of each module by its name whether it is a package, and its code."""
    table, codes, at = {}, [], 0
    for name, (package, code) in modules.items():
        codes.append(marshal.dumps(code))
        table[name] = package, at, len(codes[-1])
        at += len(codes[-1])
    told = marshal.dumps((_interpreter(), table))
    return b"".join(codes) + told + len(told).to_bytes(_TAIL, "little")


def _interpreter() -> tuple[str, int]:
    """What tells this interpreter from those that have other bytecode."""
    return str(sys.implementation.cache_tag), sys.hexversion


def _table(fd: int) -> Table | None:
    """The table of a bundle; None where it is not whole, or for another interpreter."""
    try:
        size = os.fstat(fd).st_size
        end = os.pread(fd, _READ, max(0, size - _READ))
        length = int.from_bytes(end[-_TAIL:], "little")
        if length + _TAIL > len(end):
            end = os.pread(fd, length + _TAIL, max(0, size - length - _TAIL)) if length + _TAIL <= size else b""
        interpreter, table = marshal.loads(end[-_TAIL - length : -_TAIL])
        whole = sum(found[2] for found in table.values()) + length + _TAIL == size
    except (OSError, ValueError, EOFError, TypeError, AttributeError, IndexError):
        return None
    return table if whole and interpreter == _interpreter() else None


class _Bundle:
    """Finds and loads the modules of a bundle, for sys.meta_path."""

    def __init__(self, fd: int, top: str, table: Table) -> None:
        self._fd = fd
        self._above = os.path.dirname(top)
        self._table = table

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Where a module comes from; None for one that is not in the bundle."""
        found = self._table.get(name)
        if found is None:
            return None
        place = f"{self._above}/{name.replace('.', '/')}"
        origin = f"{place}/__init__.py" if found[0] else f"{place}.py"
        spec = type(__spec__)(name, self, origin=origin, is_package=found[0])  # type: ignore[arg-type]
        if found[0]:
            spec.submodule_search_locations = [place]
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """None: a module like any other."""

    def exec_module(self, module: ModuleType) -> None:
        """Runs the code of a module."""
        spec = module.__spec__
        assert spec is not None
        module.__file__ = spec.origin
        _, at, length = self._table[spec.name]
        exec(marshal.loads(os.pread(self._fd, length, at)), module.__dict__)
