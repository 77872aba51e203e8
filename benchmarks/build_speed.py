#!/usr/bin/env python3
"""How much longer a real configure-and-make takes under `guard exec`: python benchmarks/build_speed.py [-n RUNS] [--source TAR]

The source is that of a Debian package (hello, or --package), fetched with apt-get, or a tar archive that is there already.
Builds alternate between guarded and not, in the same directory, so that a busy machine slows both; medians are compared.
Afterwards nothing that was built may name a path of the shims. Without a source the benchmark says so and is skipped.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

GOAL = 1.06
BUILD = "./configure --quiet --disable-dependency-tracking && make --silent && make --silent DESTDIR=$PWD/installed install"
SOURCES = Path("/etc/apt/sources.list"), Path("/etc/apt/sources.list.d")  # where the system says what it installs from


def fetch(package: str, where: Path) -> Path | None:
    """The upstream archive of a Debian package, fetched without touching the system's lists; None where it cannot be had."""
    if shutil.which("apt-get") is None:
        return None
    (where / "lists/partial").mkdir(parents=True)
    lines, parts = where / "sources.list", where / "sources"
    lines.write_text(re.sub(r"(?m)^deb ", "deb-src ", SOURCES[0].read_text()) if SOURCES[0].exists() else "")
    parts.mkdir()
    for path in SOURCES[1].glob("*.sources"):
        (parts / path.name).write_text(re.sub(r"(?m)^Types: .*", "Types: deb-src", path.read_text()))
    options = {
        "Dir::Etc::SourceList": lines,
        "Dir::Etc::SourceParts": parts,
        "Dir::State::Lists": where / "lists",
    }
    given = [part for name, value in options.items() for part in ("-o", f"{name}={value}")]
    for command in (["update"], ["source", "--download-only", package]):
        run = subprocess.run(["apt-get", "-qq", *given, *command], cwd=where, capture_output=True, check=False, timeout=600)
        if run.returncode:
            return None
    return next(where.glob("*.orig.tar.*[!c]"), None)


def build(archive: Path, home: Path, prefix: Sequence[str]) -> float:
    """Unpacks, configures, makes and installs in home/app/source; gives the seconds of all but the unpacking."""
    source = home / "app/source"
    shutil.rmtree(source, ignore_errors=True)
    with tarfile.open(archive) as tar:
        top = os.path.commonpath(tar.getnames())
        tar.extractall(home, filter="data")
    (source.parent / ".git").mkdir(parents=True, exist_ok=True)  # a project, so that there is something to protect
    (source.parent / "CLAUDE.md").write_text("Build it.\n")
    (home / top).rename(source)
    environ = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "FORCE_UNSAFE_CONFIGURE": "1"}
    start = time.perf_counter()
    run = subprocess.run(
        [*prefix, "sh", "-c", BUILD], cwd=source, env=environ, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    taken = time.perf_counter() - start
    if run.returncode:
        raise SystemExit(f"the build failed ({run.returncode}):\n{run.stderr.decode(errors='replace')[-2000:]}")
    return taken


def baked(home: Path) -> list[Path]:
    """The files of the build that name a path of the shims; the log of configure records the PATH that it had."""
    mark = os.fsencode(home / ".local/share/guard")
    files = [path for path in (home / "app/source").rglob("*") if path.is_file() and path.name != "config.log"]
    return [path for path in files if mark in path.read_bytes()]


def measure(archive: Path, guard: Path, runs: int, home: Path) -> tuple[float, float]:
    """The median seconds of the build without and with guard."""
    prefix = [str(guard), "exec", "--"]
    build(archive, home, prefix)  # warms the caches, and installs the shims
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(runs):
        for guarded in times:
            times[guarded].append(build(archive, home, prefix if guarded else []))
    return statistics.median(times[False]), statistics.median(times[True])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=3, dest="runs", help="builds of each kind")
    parser.add_argument("--source", type=Path, help="a tar archive with a configure script")
    parser.add_argument("--package", default="hello", help="the Debian source package to fetch")
    parser.add_argument("--guard", type=Path, default=Path(sys.executable).parent / "guard")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="guard-build-") as temporary:
        home = Path(os.path.realpath(temporary))
        archive = given.source or fetch(given.package, home / "fetched")
        if archive is None:
            print(f"skipped: the source of {given.package} cannot be had here; name an archive with --source")
            return 0
        plain, guarded = measure(archive.resolve(), given.guard, given.runs, home)
        named = baked(home)
    print(f"{archive.name}: {plain:.2f} s, guarded {guarded:.2f} s: {guarded / plain:.3f} x (goal {GOAL} x)")
    for path in named:
        print(f"names a path of the shims: {path}")
    return int(guarded / plain > GOAL or bool(named))


if __name__ == "__main__":
    sys.exit(main())
