"""Namespaces, limits and a lack of rights for one process tree, by Linux system calls.

Run as a program it tries all of it and says what fails. It imports the standard library only,
so that trying takes a moment.
"""

import contextlib
import ctypes
import os
import re
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

NOBODY = 65534
LEARNER = 1000  # the uid and gid that the learner's code sees
NAMESPACES = {
    "mount": 0x00020000, "uts": 0x04000000, "ipc": 0x08000000, "user": 0x10000000,
    "pid": 0x20000000, "net": 0x40000000,
}  # fmt: skip
NOSUID, NODEV, NOEXEC, READ_ONLY, REMOUNT, BIND = 2, 4, 8, 1, 32, 4096
RECURSIVE, PRIVATE = 1 << 14, 1 << 18
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP = 1, 4, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, CLEAR_ALL = 36, 38, 47, 4
CAPABILITY_VERSION_3 = 0x20080522

HOME = "/home/learner"
SCRATCH = {HOME: 200, "/tmp": 200, "/dev/shm": 100}  # MB that each may hold
FILES = {"size": 100_000_000, "open": 256}
PROCESSES = 64

LIBC = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: object) -> int:
    """Call a C function; raises OSError if it returns -1."""
    result: int = getattr(LIBC, name)(*arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount something over `target`."""
    call("mount", source.encode(), target.encode(), kind.encode(), flags, options.encode())


def adopt_orphans() -> None:
    """Become the parent of processes whose parent has ended."""
    call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def become_nobody() -> None:
    """Give up root's identity, whose number of processes Linux does not limit."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)  # else /proc/self stays root's


def leave_namespaces() -> None:
    """Give this process, and children to come, namespaces of their own."""
    user, group = os.getuid(), os.getgid()
    call("unshare", sum(NAMESPACES.values()))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{LEARNER} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{LEARNER} {group} 1")


def furnish(masked: list[str]) -> None:
    """Give the new namespaces their own files: nothing left behind, nothing masked to read."""
    mount("none", "/", flags=RECURSIVE | PRIVATE)
    mount("proc", "/proc", "proc", NOSUID | NODEV | NOEXEC)
    Path("/proc/sys/user/max_user_namespaces").write_text("0")
    call("sethostname", b"sandbox", 7)
    for target, size in SCRATCH.items():
        inside = {path: os.open(path, os.O_PATH) for path in shown_in(target)}
        mount("tmpfs", target, "tmpfs", NOSUID | NODEV, f"size={size}m,nr_inodes=20000,mode=700")
        for path, file in inside.items():  # a clone of the course in /tmp
            os.makedirs(path)
            mount(f"/proc/self/fd/{file}", path, flags=BIND)
            os.close(file)
    for path in masked:
        mask(path)
    # Linux keeps these open to the tree's root user only, but what is not there is not read.
    for path in ("/proc/sys", "/proc/sysrq-trigger", "/proc/keys"):
        if Path(path).exists():
            mount(path, path, flags=BIND)
            mount(path, path, flags=BIND | REMOUNT | READ_ONLY | NOSUID | NODEV | NOEXEC)


def shown_in(target: str) -> list[str]:
    """Return the folders that the walls show inside a folder that a kernel gets anew."""
    mounts = Path("/proc/self/mountinfo").read_text("utf-8").splitlines()
    names = {line.split(" ", 5)[4] for line in mounts}
    paths = {re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), name) for name in names}
    return sorted(path for path in paths if path.startswith(target + "/"))


def mask(path: str) -> None:
    """Put an empty, unreadable folder or an empty file over a path."""
    if Path(path).is_dir():
        mount("tmpfs", path, "tmpfs", READ_ONLY | NOSUID | NODEV, "size=4k,mode=0")
    else:
        mount("/dev/null", path, flags=BIND)


def drop_rights() -> None:
    """Give up every capability for good, in this process and its children."""
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    with contextlib.suppress(OSError):
        call("prctl", PR_CAP_AMBIENT, CLEAR_ALL, 0, 0, 0)
    for capability in range(64):
        with contextlib.suppress(OSError):  # numbers that this Linux does not know
            call("prctl", PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    call("capset", ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))


def limit_process(seconds: int) -> None:
    """Bind limits on processor time, files and number of processes; be the first to go."""
    most = {
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: FILES["size"],
        resource.RLIMIT_NOFILE: FILES["open"],
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_NPROC: PROCESSES,
    }
    for kind, value in most.items():
        resource.setrlimit(kind, (value, value))
    Path("/proc/self/oom_score_adj").write_text("1000")


def confine(tell: int, masked: list[str], root: bool, seconds: int) -> None:
    """Go on alone: of the processes that this makes, only the innermost returns.

    Call it in a child that may end. The outermost process writes "pid N" to the pipe `tell`
    and ends; process N is the first of the new namespaces, passes SIGINT on, and when the
    innermost ends, ends with all that are left. A fault is written there as "fault …".
    """
    try:
        if root:
            become_nobody()
        leave_namespaces()
        first = os.fork()
        if first:
            os.write(tell, f"pid {first}\n".encode())
            os._exit(0)
        furnish(masked)
        drop_rights()
        inner = os.fork()
        os.close(tell)
        if inner:
            reap(inner)
        os.setsid()
        limit_process(seconds)
        os.chdir(HOME)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(tell, f"fault {error}\n".encode())
        os._exit(1)


def reap(inner: int) -> NoReturn:
    """Wait for every process that ends here, until it is `inner`."""
    signal.signal(signal.SIGINT, lambda *_: os.kill(inner, signal.SIGINT))
    os.closerange(0, 1024)
    while os.wait()[0] != inner:
        pass
    os._exit(0)


def close_files_but(kept: set[int]) -> None:
    """Close what a child should not inherit."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            with contextlib.suppress(OSError):  # the listing's own is closed already
                os.close(int(name))


def start(
    work: Callable[[], None], masked: list[str], root: bool, seconds: int, keep: int = 2
) -> int:
    """Run `work` in a confined process; return the id of its namespaces' first process.

    Of this process' open files, only `keep` and the standard ones go along. That process is a
    child of the caller's if `adopt_orphans` was called before: kill it and wait for it, and
    none is left. Raises OSError with what this Linux refuses.
    """
    told, tell = os.pipe()
    outer = os.fork()
    if not outer:
        close_files_but({0, 1, 2, keep, tell})
        confine(tell, masked, root, seconds)
        try:
            work()
        finally:
            os._exit(0)
    os.close(tell)
    os.waitpid(outer, 0)
    with open(told, encoding="utf-8", errors="replace") as pipe:
        lines = pipe.read().splitlines()
    news = dict(line.split(" ", 1) for line in lines if " " in line)
    if "pid" in news:
        first = int(news["pid"])
        if "fault" not in news:
            return first
        os.waitpid(first, 0)
    raise OSError(news.get("fault", "the confined process ended at once"))


def try_it(root: bool) -> None:
    """Confine a process that does nothing; raises OSError."""
    adopt_orphans()
    os.waitpid(start(lambda: None, [], root, 10), 0)


if __name__ == "__main__":
    try_it(root="root" in sys.argv)
