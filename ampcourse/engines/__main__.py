"""`python -m ampcourse.engines`, alone or under torchrun."""

import sys

from ampcourse.engines.command import main

if __name__ == "__main__":
    sys.exit(main())
