"""The file that launchers run: python -I -S start.py check -- COMMAND. It is short because Python compiles it every time."""

import os
import sys

# The directory itself, not a link to it: an upgrade while this runs must not mix two versions.
_TOP = os.path.realpath(__file__).removesuffix("/guard/hot/start.py")
_PREFIX = sys.executable.rpartition("/bin/")[0]
# What guard's own modules need from elsewhere (reading configuration) stands beside it, or in the environment of this Python.
sys.path[:0] = [_TOP]
sys.path.append(f"{_PREFIX}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages")

if __name__ == "__main__":
    from guard.bundle import install

    install()
    from guard.main import main

    sys.exit(main())
