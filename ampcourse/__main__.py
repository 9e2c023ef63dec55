"""`python3 -m ampcourse`: refuse a Python that is too old, else set up and hand over."""

import sys

# Everything above the import below must parse on any Python, even 2.7, or the learner would
# meet a SyntaxError instead of this sentence. Hence no f-string.
if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(
        "ampcourse needs Python 3.11 or newer, and this one is %d.%d (%s): install a newer one, "  # noqa: UP031
        "from python.org for example, and start ampcourse with it."
        % (sys.version_info[0], sys.version_info[1], sys.executable)
    )

from ampcourse.bootstrap.start import start
from ampcourse.cli import main

if __name__ == "__main__":
    sys.exit(start(sys.argv[1:], main))
