"""Hand this process over to another program."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence


def hand_over(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Go on as `command`, and return its exit code where the system cannot replace a process.

    On POSIX the program takes this process's place, so that every signal reaches it. On
    Windows an exec would return to the prompt at once, so it runs as a child; Ctrl-C reaches
    the whole console there, and deciding what it means is left to the child.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix":
        os.execve(command[0], list(command), dict(environment))
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return subprocess.call(list(command), env=dict(environment))
    finally:
        signal.signal(signal.SIGINT, previous)
