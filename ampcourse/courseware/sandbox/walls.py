"""The command that starts a program in bubblewrap: what it can see of this machine, and no more.

Read-only: the system's libraries, this Python with its packages, the package ampcourse. Not
there at all: the checkout round it, homes, other Pythons' packages, the network, the
environment's variables.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import ampcourse
from ampcourse.courseware.sandbox.isolation import HOME

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SETTINGS = ("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives", "/etc/fonts")
PACKAGES = ("lib/python3*", "lib/python3*/site-packages", "lib/python3*/dist-packages")
PACKAGE = Path(ampcourse.__file__).resolve().parent
ACCOUNTS = {
    "/etc/passwd": "learner:x:1000:1000:learner:/home/learner:/bin/sh\n",
    "/etc/group": "learner:x:1000:\n",
}
VARIABLES = {
    "HOME": HOME,
    "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "MPLBACKEND": "agg",
    "IPYTHONDIR": f"{HOME}/.ipython",
    "PYTHONHASHSEED": "0",  # the same order of sets for everyone, today and tomorrow
    # A clone that is not installed: of that folder, only the package is there.
    **({} if PACKAGE.parent.name.endswith("-packages") else {"PYTHONPATH": str(PACKAGE.parent)}),
    # A forked process cannot use threads that its parent has started.
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
}


def is_root() -> bool:
    return os.name == "posix" and os.geteuid() == 0


def command(bubblewrap: str, program: list[str], accounts: Path) -> list[str]:
    """Return the arguments that run `program` behind the walls.

    `accounts` is a folder of the grader's own for small files. Root makes no user namespace
    here: each kernel gives up being root before it makes its own (see `isolation`).
    """
    words = [bubblewrap, "--die-with-parent", "--unshare-pid", "--unshare-net", "--unshare-ipc"]
    words += ["--unshare-uts", "--unshare-cgroup-try"]
    if is_root():
        for capability in ("SETUID", "SETGID", "KILL"):
            words += ["--cap-add", f"CAP_{capability}"]
    else:
        words += ["--unshare-user"]
    words += system() + settings(accounts)
    for folder in shown():
        # Folders on the way that bubblewrap makes by itself are closed to all but root.
        for parent in [*reversed(Path(folder).parents)][1:]:
            words += ["--dir", str(parent)]
        words += ["--ro-bind", folder, folder]
    for folder in foreign_packages():
        words += ["--tmpfs", folder]
    words += ["--chdir", HOME, "--", *program]
    return words


def system() -> list[str]:
    """Return the words that show the system's libraries, devices and scratch folders."""
    words = []
    for folder in SYSTEM:
        if Path(folder).is_symlink():
            words += ["--symlink", os.readlink(folder), folder]
        elif Path(folder).is_dir():
            words += ["--ro-bind", folder, folder]
    # The whole of /proc only until a kernel puts its own over it: Linux allows that no other way.
    words += ["--bind", "/proc", "/proc", "--dev", "/dev"]
    words += ["--ro-bind-try", "/sys/devices/system/cpu", "/sys/devices/system/cpu"]
    return [*words, "--tmpfs", "/tmp", "--tmpfs", HOME]


def settings(accounts: Path) -> list[str]:
    """Return the words that show what libraries read in /etc."""
    words = ["--dir", "/etc"]
    for name in SETTINGS:
        words += ["--ro-bind-try", name, name]
    for name, text in ACCOUNTS.items():
        file = accounts / Path(name).name
        file.write_text(text, "utf-8")
        words += ["--ro-bind", str(file), name]
    return words


def shown() -> list[str]:
    """Return the folders of this Python, of its packages, and of the package ampcourse."""
    places = [sys.base_prefix, sys.prefix, str(Path(sys.executable).resolve().parents[1])]
    places += [str(PACKAGE)]
    places += [folder for folder in sys.path if Path(folder).name.endswith("-packages")]
    chosen: list[str] = []
    for place in map(os.path.abspath, places):
        if not any(is_within(place, other) for other in (*chosen, *SYSTEM)):
            chosen.append(place)
    return chosen


def is_within(path: str, folder: str) -> bool:
    return Path(path).is_relative_to(folder)


def foreign_packages() -> list[str]:
    """Return the folders of Python code that the walls show but this Python does not import."""
    own = {os.path.realpath(folder) for folder in sys.path}
    roots = {Path(root) for root in ("/usr", "/usr/local", sys.base_prefix, sys.prefix)}
    found = {folder for root in roots for pattern in PACKAGES for folder in root.glob(pattern)}
    others = {
        folder
        for folder in found
        if not any(is_within(place, os.path.realpath(folder)) for place in own)
    }
    return sorted(str(folder) for folder in others if not others & set(folder.parents))


def find_bubblewrap() -> str | None:
    """Return the path of bubblewrap if confining a process with it works here."""
    path = shutil.which("bwrap") if sys.platform == "linux" else None
    return path if path and not fault(path) else None


def fault(bubblewrap: str) -> str:
    """Return what went wrong when a process that does nothing was confined; empty if nothing."""
    import tempfile

    from ampcourse.courseware.sandbox import isolation

    program = [sys.executable, "-I", "-S", isolation.__file__, *(["root"] if is_root() else [])]
    with tempfile.TemporaryDirectory(prefix="amp") as folder:
        words = command(bubblewrap, program, Path(folder))
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, errors="replace", timeout=60, env=VARIABLES
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
