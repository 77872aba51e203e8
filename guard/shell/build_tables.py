"""Makes bashlex_tables.bin from the bashlex that is installed: python -m guard.shell.build_tables"""

from __future__ import annotations

from guard.shell.bashlex_tables import FILE, build, pack


def main() -> None:
    """Writes the file beside this one."""
    with open(FILE, "wb") as file:
        file.write(pack(build()))


if __name__ == "__main__":
    main()
