"""Runs in the sandbox: imports what a lesson needs once, then forks a kernel per submission.

It is told a lesson's imports and forbidden modules, never a check. It imports and computes
nothing: a thread of a library would not survive the fork, and a child that needs it would hang.

One message per packet on the control socket, each answered by one: "start", with the socket
of the new kernel beside it, "interrupt" and "kill".
"""

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
from typing import Any

from ampcourse.courseware import agent
from ampcourse.courseware.sandbox import isolation, shell
from ampcourse.courseware.sandbox.guard import ImportGuard, files_of
from ampcourse.courseware.sandbox.wire import PACKET

# What a library imports, for seconds, when its first object is made.
LATE = {"torch": "torch._dynamo"}


def load(modules: list[str]) -> None:
    """Import the modules that are there; what is not, the set-up's own import reports."""
    companions = [late for name, late in LATE.items() if name in modules]
    for name in modules + companions:
        with contextlib.suppress(ImportError, AttributeError):
            importlib.import_module(name)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    threads = os.listdir("/proc/self/task")
    if len(threads) > 1:
        raise RuntimeError(f"importing {modules} started {len(threads) - 1} threads: cannot fork")


def outermost(paths: set[str]) -> list[str]:
    """Return the paths that lie in no other: once a folder is masked, its files are gone."""
    return sorted(p for p in paths if not any(p.startswith(other + "/") for other in paths))


class Server:
    """Answers the grader's requests; `first` is the running kernel's outermost process."""

    def __init__(self, control: socket.socket, root: bool) -> None:
        self.control = control
        self.root = root
        self.first = 0

    def get_ready(self, modules: list[str], forbidden: dict[str, str]) -> None:
        """Import, then close what is forbidden, and make the shell that children inherit."""
        load(modules)
        self.masked = outermost({path for name in forbidden for path in files_of(name)})
        ImportGuard(forbidden, agent.refusals).install()
        self.shell = shell.make()
        isolation.adopt_orphans()
        gc.collect()
        gc.freeze()

    def serve(self) -> None:
        """Answer until the grader closes its end."""
        while True:
            packet, files, _, _ = socket.recv_fds(self.control, PACKET, 1)
            if not packet:
                return
            try:
                answer = self.answer(json.loads(packet), files)
            except OSError as error:
                answer = {"fault": str(error)}
            for file in files:
                os.close(file)
            self.control.send(json.dumps(answer).encode())

    def answer(self, request: dict[str, Any], files: list[int]) -> dict[str, Any]:
        """Do what is asked for."""
        if request["do"] == "interrupt":
            os.kill(self.first, signal.SIGINT)
        else:
            self.kill()
        if request["do"] == "start":
            (wire,) = files
            work = shell.Work(self.shell, wire)
            self.first = isolation.start(
                work.run, self.masked, self.root, request["seconds"], keep=wire
            )
        return {}

    def kill(self) -> None:
        """End the running kernel; when this returns, no process of it is left."""
        if self.first:
            os.kill(self.first, signal.SIGKILL)
            os.waitpid(self.first, 0)
            self.first = 0


def main() -> None:
    """Serve on the socket that standard input is."""
    control = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    packet = json.loads(control.recv(PACKET))
    server = Server(control, packet["root"])
    server.get_ready(packet["modules"], packet["forbidden"])
    control.send(b"{}")
    server.serve()


if __name__ == "__main__":
    main()
