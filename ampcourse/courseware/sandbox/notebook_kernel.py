"""Kernels that are a separate process: they run a learner's code within limits, and answer."""

import ast
import inspect
import json
import sys
from types import TracebackType
from typing import Any

from ampcourse.courseware import agent
from ampcourse.courseware.kernel import KernelLost, KernelUnusable, Limits, Reply, modules_of
from ampcourse.courseware.sandbox import guard
from ampcourse.courseware.sandbox.answer import read_answer
from ampcourse.courseware.sandbox.notebook_process import NotebookProcess
from ampcourse.courseware.sandbox.wire import UNABLE
from ampcourse.courseware.source import Lesson

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
    """A kernel in which the agent answers."""

    def __init__(self, lesson: Lesson, limits: Limits) -> None:
        self.limits = limits
        self.lost = False
        self.process = NotebookProcess(2 * limits.memory)
        try:
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
        expression = f"__import__('sys').modules[{AGENT!r}].reply({call!r})"
        try:
            reply = self.process.execute("", seconds, expression)
            if reply.status == "timeout":
                raise KernelLost(f"gave no result within {seconds:g} s")
            return read_answer(json.loads(ast.literal_eval(reply.data["data"]["text/plain"])))
        except KernelLost:
            self.lost = True
            raise
        except (KeyError, TypeError, ValueError, SyntaxError, MemoryError, RecursionError):
            self.lost = True
            raise KernelLost(UNABLE) from None

    def execute(self, code: str, seconds: float) -> Reply:
        """Run code; interrupt it after `seconds`; raises KernelLost."""
        return self.process.execute(code, seconds)

    def close(self) -> None:
        """End the process and remove its folder."""
        self.process.close()


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
