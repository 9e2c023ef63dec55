"""The grader's end of a server in the sandbox: starts it, asks it, watches its memory."""

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ampcourse.courseware.kernel import KernelUnusable, modules_of
from ampcourse.courseware.sandbox import walls
from ampcourse.courseware.sandbox.wire import PACKET
from ampcourse.courseware.source import Lesson

MODULE = "ampcourse.courseware.sandbox.server"
# What many answers import themselves: 80 ms in each kernel, or once here.
USUAL = ("numpy",)
ANSWER = 60.0  # seconds; ending a fork bomb takes some


class WarmServer:
    """A server behind bubblewrap that has imported one lesson's libraries."""

    def __init__(self, bubblewrap: str, lesson: Lesson, seconds: float) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="amp"))
        self.log = self.folder / "log"
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        program = [sys.executable, "-P", "-m", MODULE]
        with theirs, self.log.open("wb") as log:
            self.process = subprocess.Popen(
                walls.command(bubblewrap, program, self.folder),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=walls.VARIABLES,
            )
        wanted = dict.fromkeys([*modules_of(lesson), *USUAL])
        modules = [name for name in wanted if name not in lesson.forbidden]
        try:
            self.ask(
                {"root": walls.is_root(), "modules": modules, "forbidden": lesson.forbidden},
                seconds=seconds,
            )
            self.own_memory = 0
            self.own_memory = self.memory()
        except BaseException:
            self.close()
            raise

    def ask(
        self, request: dict[str, Any], file: int | None = None, seconds: float = ANSWER
    ) -> None:
        """Ask for one thing and wait until it is done; raises KernelUnusable."""
        self.control.settimeout(seconds)
        try:
            files = [] if file is None else [file]
            socket.send_fds(self.control, [json.dumps(request).encode()], files)
            answer = json.loads(self.control.recv(PACKET) or b'{"fault": "it ended"}')
        except (OSError, ValueError) as error:
            answer = {"fault": str(error)}
        if answer.get("fault"):
            raise KernelUnusable(f"the sandbox fails: {answer['fault']}{self.last_words()}")

    def last_words(self) -> str:
        """Return the last line that the server wrote, if any."""
        with contextlib.suppress(OSError):
            lines = self.log.read_text("utf-8", "replace").strip().splitlines()
            return f" ({lines[-1]})" if lines else ""
        return ""

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def memory(self) -> int:
        """Return the bytes in use beyond the server's own, shared pages counted once."""
        import psutil

        total = 0
        with contextlib.suppress(psutil.Error):
            for process in psutil.Process(self.process.pid).children(recursive=True):
                with contextlib.suppress(OSError, IndexError):
                    text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
                    total += int(text.split("\nPss:")[1].split()[0]) * 1024
        return total - self.own_memory

    def close(self) -> None:
        """End the server with all that runs in its namespaces, and wait."""
        self.control.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
