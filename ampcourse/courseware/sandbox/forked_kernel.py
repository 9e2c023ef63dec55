"""Kernels forked in bubblewrap from a server that has imported a lesson's libraries.

The grader's side. Per lesson one server stays warm; per kernel the server forks a process in
namespaces of its own, which talks to the grader over a socket and cannot reach the server.
"""

import contextlib
import math
import socket
import time
from types import TracebackType
from typing import Any

from ampcourse.courseware.kernel import KernelLost, KernelUnusable, Limits, Reply
from ampcourse.courseware.sandbox.answer import read_answer
from ampcourse.courseware.sandbox.warm_server import WarmServer
from ampcourse.courseware.sandbox.wire import Broken, Wire
from ampcourse.courseware.source import Lesson

MAX_MESSAGE = 100_000_000  # bytes of a kernel's answer
LOOK = 0.25  # seconds between two looks at the memory in use
GRACE = 1.0
INTERRUPTS = 3
WARM = 3  # servers kept; one with torch holds some 300 MB
PROTECTION = (
    "bubblewrap: no network, a read-only system, its own home, processes and users, limits on "
    "time, memory, files and processes"
)


class ForkedKernel:
    """One submission's kernel."""

    def __init__(self, server: WarmServer, limits: Limits) -> None:
        self.server = server
        self.limits = limits
        self.lost = False
        ours, theirs = socket.socketpair()
        self.wire = Wire(ours, MAX_MESSAGE)
        with theirs:
            seconds = math.ceil(limits.notebook) + 10
            try:
                server.ask({"do": "start", "seconds": seconds}, theirs.fileno())
            except BaseException:
                ours.close()
                raise

    def set_up(self, cells: list[str]) -> None:
        """Run the lesson's set-up cells, then bind the memory limit."""
        try:
            reply = self.ask("set_up", self.limits.start, cells=cells, memory=self.limits.memory)
        except KernelLost as error:
            raise KernelUnusable(f"the lesson's set-up {error}") from None
        if reply.status != "ok":
            raise KernelUnusable(f"the lesson's set-up fails here: {reply.error}")

    def execute(self, code: str, seconds: float) -> Reply:
        """Run a cell, interrupt it after `seconds`; raises KernelLost."""
        return self.ask("execute", seconds, code=code)

    def evaluate(self, call: str, seconds: float) -> tuple[dict[str, Any], list[str]]:
        """Return a call's outcome and the forbidden modules asked for; raises KernelLost."""
        return self.answer("evaluate", seconds, call=call)

    def refused(self, seconds: float) -> list[str]:
        """Return the forbidden modules asked for since the last answer; raises KernelLost."""
        return self.answer("refused", seconds)[1]

    def answer(self, do: str, seconds: float, **arguments: Any) -> tuple[dict[str, Any], list[str]]:
        """Send a request and return what comes back; a kernel that gives no answer is ended."""
        try:
            self.wire.send({"do": do, "with": arguments}, seconds)
            answer = self.wait(seconds)
            if answer is None:
                raise KernelLost(f"gave no result within {seconds:g} s")
            return read_answer(answer)
        except (Broken, KernelLost) as error:
            self.close()
            raise KernelLost(str(error)) from None

    def ask(self, do: str, seconds: float, **arguments: Any) -> Reply:
        """Send a request and wait for the answer; raises KernelLost."""
        try:
            self.wire.send({"do": do, "with": arguments}, seconds)
            answer = self.wait(seconds)
            timeout = answer is None
            for _ in range(INTERRUPTS):
                if answer is None:
                    self.server.ask({"do": "interrupt"})
                    answer = self.wait(GRACE)
        except Broken as error:
            self.close()
            raise KernelLost(str(error)) from None
        if answer is None:
            self.close()
            raise KernelLost(f"did not stop when interrupted after {seconds:g} s")
        if timeout:
            return Reply("timeout", f"took more than {seconds:g} s", answer)
        error = str(answer.get("error", ""))[:500]
        return Reply("error" if error else "ok", error, answer)

    def wait(self, seconds: float) -> dict[str, Any] | None:
        """Return the answer, or None when time is up; raises Broken, KernelLost."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            answer = self.wire.receive(min(left, LOOK))
            if answer is not None:
                return answer
            if self.server.memory() > 2 * self.limits.memory:
                self.close()
                raise KernelLost("took too much memory")
        return None

    def close(self) -> None:
        """End the kernel; when this returns, no process of it is left."""
        if not self.lost:
            self.lost = True
            with contextlib.suppress(KernelUnusable):
                self.server.ask({"do": "kill"})
            self.wire.end.close()


class ForkedKernels:
    """Starts kernels from servers that stay warm, one server per lesson."""

    protection = PROTECTION

    def __init__(self, bubblewrap: str) -> None:
        self.bubblewrap = bubblewrap
        self.servers: dict[str, WarmServer] = {}

    def start(self, lesson: Lesson, limits: Limits) -> ForkedKernel:
        """Return a kernel in which the lesson's set-up has run; raises KernelUnusable."""
        kernel = ForkedKernel(self.server(lesson, limits), limits)
        try:
            kernel.set_up(lesson.setup)
        except BaseException:
            kernel.close()
            raise
        return kernel

    def server(self, lesson: Lesson, limits: Limits) -> WarmServer:
        """Return the lesson's server, a new one if there is none or it has ended."""
        server = self.servers.pop(lesson.slug, None)
        if server and not server.alive:
            server.close()
            server = None
        while len(self.servers) >= WARM:
            self.servers.pop(next(iter(self.servers))).close()
        server = server or WarmServer(self.bubblewrap, lesson, limits.start)
        self.servers[lesson.slug] = server  # the one used last is the last
        return server

    def close(self) -> None:
        """End all servers."""
        while self.servers:
            self.servers.popitem()[1].close()

    def __enter__(self) -> "ForkedKernels":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
