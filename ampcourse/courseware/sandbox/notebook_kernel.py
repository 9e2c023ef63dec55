"""One IPython kernel that runs a learner's code within limits and answers or is replaced.

Only the shell channel is read: what the code prints stays unread, so a gigabyte of output
costs the kernel time and the grader nothing.
"""

import ast
import contextlib
import inspect
import json
import os
import queue
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from ampcourse.courseware import agent
from ampcourse.courseware.kernel import KernelLost, KernelUnusable, Limits, Reply, modules_of
from ampcourse.courseware.sandbox import guard
from ampcourse.courseware.sandbox.answer import read_answer
from ampcourse.courseware.sandbox.wire import UNABLE
from ampcourse.courseware.source import Lesson

MAX_MESSAGE = 100_000_000  # bytes; a longer reply is dropped, which counts as no reply
POLL = 0.05
GRACE = 1.0
INTERRUPTS = 3
BOOT = """\
import importlib, sys, types
agent, guard = (types.ModuleType(name) for name in {names!r})
for module, text in zip((agent, guard), {texts!r}):
    sys.modules[module.__name__] = module
    exec(compile(text, module.__name__, "exec"), module.__dict__)
for name in {modules!r}:
    try:
        importlib.import_module(name)
    except (ImportError, AttributeError):
        pass
guard.ImportGuard({forbidden!r}, agent.refusals).install()
del agent, guard, importlib, module, name, sys, text, types
"""
AGENT = agent.KERNEL_NAME


class NotebookKernel:
    """A running kernel in a folder of its own; use it as a context manager."""

    def __init__(self, lesson: Lesson, limits: Limits) -> None:
        self.limits = limits
        self.lost = False
        self.folder = Path(tempfile.mkdtemp(prefix="amp"))
        try:
            self.launch()
            boot = BOOT.format(
                names=(AGENT, "_ampcourse_guard"),
                texts=(inspect.getsource(agent), inspect.getsource(guard)),
                modules=modules_of(lesson),
                forbidden=lesson.forbidden,
            )
            self.must(boot, "no kernel could be started")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "NotebookKernel":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

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

    def must(self, code: str, otherwise: str) -> None:
        """Run code of ours; raises KernelUnusable if it fails."""
        try:
            reply = self.execute(code, self.limits.start)
        except KernelLost as error:
            raise KernelUnusable(f"{otherwise}: it {error}") from None
        if reply.status != "ok":
            raise KernelUnusable(f"{otherwise}: {reply.error or reply.status}")

    def set_up(self, cells: list[str]) -> None:
        """Run the lesson's set-up cells, then bind the memory limit."""
        for cell in cells:
            self.must(cell, "the lesson's set-up fails here")
        limit = f"__import__('sys').modules[{AGENT!r}].limit_memory({self.limits.memory})"
        self.must(limit, "the memory limit cannot be set")

    def evaluate(self, call: str, seconds: float) -> tuple[dict[str, Any], list[str]]:
        """Return a call's outcome and the forbidden modules asked for; raises KernelLost."""
        return self.answer(call, seconds)

    def refused(self, seconds: float) -> list[str]:
        """Return the forbidden modules asked for since the last answer; raises KernelLost."""
        return self.answer(None, seconds)[1]

    def answer(self, call: str | None, seconds: float) -> tuple[dict[str, Any], list[str]]:
        """Ask the agent in the kernel; a kernel that gives no answer is lost."""
        reply = self.execute("", seconds, f"__import__('sys').modules[{AGENT!r}].reply({call!r})")
        try:
            if reply.status == "timeout":
                raise KernelLost(f"gave no result within {seconds:g} s")
            return read_answer(json.loads(ast.literal_eval(reply.data["data"]["text/plain"])))
        except KernelLost:
            self.lost = True
            raise
        except (KeyError, TypeError, ValueError, SyntaxError, MemoryError, RecursionError):
            self.lost = True
            raise KernelLost(UNABLE) from None

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
            if self.process.memory_info().rss > 2 * self.limits.memory:
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


class NotebookKernels:
    """Starts an ipykernel of its own for every submission."""

    def __init__(self) -> None:
        self.protection = (
            "a separate process with limits on time and memory; the network and files of this "
            "account are open to the code"
            if sys.platform == "linux"
            else "a separate process with limits on time only; the network and files of this "
            "account are open to the code"
        )

    def start(self, lesson: Lesson, limits: Limits) -> NotebookKernel:
        """Return a kernel in which the lesson's set-up has run; raises KernelUnusable."""
        kernel = NotebookKernel(lesson, limits)
        try:
            kernel.set_up(lesson.setup)
        except BaseException:
            kernel.close()
            raise
        return kernel

    def close(self) -> None:
        """Nothing is kept between submissions."""

    def __enter__(self) -> "NotebookKernels":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
