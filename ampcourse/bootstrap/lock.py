"""A lock between processes that falls open by itself when its holders end."""

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_TAKEN = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}


@contextmanager
def locked(path: Path, when_taken: Callable[[], None]) -> Iterator[int]:
    """Hold the lock file `path`; if another process holds it, call `when_taken` once and wait.

    Yields the file descriptor. On POSIX a child that inherits it holds the lock as well, so a
    pip that outlives its killed parent still keeps others out.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        told = False
        while not _take(descriptor):
            if not told:
                when_taken()
                told = True
            time.sleep(0.2)
        yield descriptor
    finally:
        os.close(descriptor)


def _take(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # A file system without locks (some network folders) must not keep the learner out.
        return error.errno not in _TAKEN
    return True
