"""The file that launchers run: python -I -S start.py check -- COMMAND. It is short because Python compiles it every time."""

import sys

_HERE = __file__.rpartition("/")[0] or "."
_PREFIX = sys.executable.rpartition("/bin/")[0]
# What guard's own modules need from elsewhere (reading configuration) stands beside it, or in the environment of this Python.
sys.path[:0] = [f"{_HERE}/../.."]
sys.path.append(f"{_PREFIX}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages")

if __name__ == "__main__":
    from guard.main import main

    sys.exit(main())
