"""Run a training script as `python script.py` would, watched, and print what was found."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_STOPPED = 130  # what a shell calls a program that Ctrl-C ended


def run_script(path: Path, arguments: Sequence[str]) -> int:
    """Run a script under watch, print its findings and return an exit status.

    The script is __main__, with its own sys.argv and its folder on sys.path. However it ends
    (done, sys.exit, an exception, Ctrl-C), the findings are printed after it. The status is the
    script's own if that is not 0, else 1 if there are findings. Raises ValueError for a path
    that is no file, and if torch is missing.
    """
    if not path.is_file():
        raise ValueError(f"{path} is no file; pass the training script, then its arguments")
    try:
        from ampcourse.diagnose.watching import watch
    except ModuleNotFoundError as missing:
        raise ValueError(f"watching a script needs {missing.name}; install it first") from missing
    status = 0
    with _as_main(path, arguments):
        try:
            with watch() as report:
                runpy.run_path(str(path), run_name="__main__")
        except SystemExit as stop:
            status = _status_of(stop)
        except KeyboardInterrupt:
            status = _STOPPED
        except Exception as error:
            _print_error(error, path)
            status = 1
    found = report.snapshot()
    sys.stdout.flush()
    print(f"\n--- ampcourse diagnose {path} ---\n{found}", flush=True)
    return status or int(bool(found.findings))


@contextmanager
def _as_main(path: Path, arguments: Sequence[str]) -> Iterator[None]:
    """Let sys.argv and sys.path be what the script expects."""
    argv, first = sys.argv, list(sys.path)
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(path.resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = argv, first


def _status_of(stop: SystemExit) -> int:
    """Return the status that Python would exit with, and print a message that took its place."""
    if stop.code is None or isinstance(stop.code, int):
        return stop.code or 0
    print(stop.code, file=sys.stderr)
    return 1


def _print_error(error: Exception, path: Path) -> None:
    """Print the traceback from the script's own first line on."""
    frames = traceback.TracebackException.from_exception(error)
    own = [i for i, frame in enumerate(frames.stack) if frame.filename == str(path)]
    if own:
        del frames.stack[: own[0]]
    print("".join(frames.format()), end="", file=sys.stderr)
