"""`python -m guard`: the same as the command `guard`."""

import sys

from guard.main import main

if __name__ == "__main__":
    sys.exit(main())
