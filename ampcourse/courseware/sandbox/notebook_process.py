"""An ipykernel in a folder of its own: started, asked, interrupted, killed with its group.

Only the shell channel is read: what the code prints stays unread, so a gigabyte of output
costs the kernel time and the grader nothing.
"""

import contextlib
import os
import queue
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ampcourse.courseware.kernel import KernelLost, Reply
from ampcourse.courseware.sandbox.wire import UNABLE

MAX_MESSAGE = 100_000_000  # bytes; a longer reply is dropped, which counts as no reply
POLL = 0.05
GRACE = 1.0
INTERRUPTS = 3


class NotebookProcess:
    """A running ipykernel that may hold `memory` bytes."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self.folder = Path(tempfile.mkdtemp(prefix="amp"))
        try:
            self.launch()
        except BaseException:
            self.close()
            raise

    def launch(self) -> None:
        """Start the process and connect the shell channel."""
        import psutil
        import zmq
        from jupyter_client.kernelspec import KernelSpec
        from jupyter_client.manager import KernelManager

        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        self.manager = KernelManager(connection_file=str(self.folder / "kernel.json"))
        self.manager._kernel_spec = KernelSpec(argv=argv, language="python")
        if os.name == "posix":  # sockets in a folder that other users cannot enter
            self.manager.transport, self.manager.ip = "ipc", str(self.folder / "k")
        work = self.folder / "work"
        work.mkdir()
        own = {"IPYTHONDIR": str(self.folder), "MPLBACKEND": "agg"}
        self.manager.start_kernel(cwd=str(work), env={**os.environ, **own})
        self.pid = int(getattr(self.manager.provisioner, "pid", 0))
        self.process = psutil.Process(self.pid)
        context = zmq.Context()
        context.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE)
        self.client = self.manager.client(context=context)
        self.client.start_channels(shell=True, iopub=False, stdin=False, hb=False, control=False)

    def execute(self, code: str, seconds: float, expression: str = "") -> Reply:
        """Run code, then evaluate an expression; interrupt it after `seconds`."""
        wanted = {"reply": expression} if expression else {}
        message = self.client.execute(
            code, silent=bool(expression), store_history=False, user_expressions=wanted,
            allow_stdin=False, stop_on_error=False,
        )  # fmt: skip
        content = self.wait(message, seconds)
        timeout = content is None
        for _ in range(INTERRUPTS):
            if content is None:
                self.interrupt()
                content = self.wait(message, GRACE)
        if content is None:
            self.kill()
            raise KernelLost(f"did not stop when interrupted after {seconds:g} s")
        expressions = content.get("user_expressions")
        data = expressions.get("reply") if isinstance(expressions, dict) else None
        if timeout:
            return Reply("timeout", f"took more than {seconds:g} s", data)
        if content.get("status") != "ok":
            value = str(content.get("evalue"))[:500]
            return Reply("error", f"{content.get('ename')}: {value}", data)
        return Reply("ok", data=data)

    def wait(self, message: str, seconds: float) -> dict[str, Any] | None:
        """Return the reply to a message, or None when time is up; raises KernelLost."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                reply = self.client.get_shell_msg(timeout=POLL)
                header, content = reply["parent_header"], reply["content"]
                if header.get("msg_id") == message and isinstance(content, dict):
                    return content
            except queue.Empty:
                self.watch()
            except Exception:  # the learner's code may write anything into the connection
                self.kill()
                raise KernelLost(UNABLE) from None
        return None

    def watch(self) -> None:
        """Raise KernelLost if the process has ended or holds too much memory."""
        import psutil

        try:
            if self.process.status() == psutil.STATUS_ZOMBIE:
                raise KernelLost("ended its kernel")
            if self.process.memory_info().rss > self.memory:
                self.kill()
                raise KernelLost("took too much memory")
        except psutil.NoSuchProcess:
            raise KernelLost("ended its kernel") from None

    def interrupt(self) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            self.manager.interrupt_kernel()

    def kill(self) -> None:
        """Kill the kernel with its process group."""
        if os.name == "posix" and hasattr(self, "pid"):
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(Exception):
            self.manager.shutdown_kernel(now=True)

    def close(self) -> None:
        """Kill the kernel and remove its folder."""
        if hasattr(self, "manager"):
            self.kill()
        if hasattr(self, "client"):
            self.client.stop_channels()
            self.client.context.destroy(linger=0)
        shutil.rmtree(self.folder, ignore_errors=True)
