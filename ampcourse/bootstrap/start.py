"""`python3 -m ampcourse …` from a clone: find or make the environment, then go on in it."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from ampcourse.bootstrap.handover import hand_over
from ampcourse.bootstrap.install import install
from ampcourse.bootstrap.requirements import missing, requirements
from ampcourse.bootstrap.trouble import SetupError, explain_os_error
from ampcourse.bootstrap.venv import Venv

# What each command needs before it can run; any other runs with what there is.
EXTRAS = {
    "lab": frozenset({"lab"}),
    "build": frozenset({"lab"}),
    "release": frozenset({"lab"}),
    "collect": frozenset({"lab"}),
    "grade": frozenset({"lab"}),
    "export": frozenset({"lab"}),
    "check": frozenset({"lab"}),
    "diagnose": frozenset({"lab"}),
    "slides": frozenset({"lab"}),
    "test": frozenset({"lab", "test"}),
    # These measure with what there is, on a machine that need not have Jupyter.
    "benchmark": frozenset(),
    "report": frozenset(),
}


def start(argv: list[str], run_here: Callable[[list[str]], int]) -> int:
    """Run an ampcourse command in an environment that has what it needs; return its exit code.

    If that is the environment of this process, `run_here` is called. Otherwise the command runs
    in the clone's `.venv`, which is made or brought up to date first where it needs to be.
    """
    venv = Venv(Path(__file__).resolve().parents[2])
    try:
        here = _prepare(venv, argv)
    except KeyboardInterrupt:
        say("\nStopped. Run the same command again and it goes on from here.")
        return 130
    except SetupError as error:
        say(str(error))
        return 1
    except OSError as error:
        say(explain_os_error(error, venv.clone))
        return 1
    if here:
        return run_here(argv)
    return hand_over([str(venv.python), "-m", "ampcourse", *argv], _activated(venv))


def say(text: str) -> None:
    """Tell the person at the terminal; standard output stays free for what a command prints."""
    print(text, file=sys.stderr, flush=True)


def _prepare(venv: Venv, argv: list[str]) -> bool:
    """Make sure the command can run; tell whether in this process or else in the `.venv`."""
    if not venv.pyproject.is_file():
        return True  # an installed copy, without a clone around it
    asks_for_help = not {"-h", "--help"}.isdisjoint(argv)
    extras = EXTRAS.get(argv[0], frozenset()) if argv and not asks_for_help else frozenset()
    inside = venv.is_current()
    if extras and not inside and not missing(requirements(venv.pyproject, extras)):
        return True
    if venv.is_ready(extras or EXTRAS["lab"]):
        return inside
    if not extras:
        return True
    install(venv, extras, say)
    return False


def _activated(venv: Venv) -> dict[str, str]:
    """Return the environment variables as they are once the `.venv` is activated."""
    names = dict(os.environ)
    for misleading in ("PYTHONHOME", "__PYVENV_LAUNCHER__"):
        names.pop(misleading, None)
    names["VIRTUAL_ENV"] = str(venv.folder)
    names["PATH"] = os.pathsep.join([str(venv.programs), names.get("PATH", os.defpath)])
    return names
