"""The learner's kernel in the sandbox: an IPython shell that runs cells and evaluates calls.

What the code prints goes nowhere, and nobody answers its questions.
"""

import builtins
import contextlib
import gc
import linecache
import os
import signal
import socket
import sys
import types
from itertools import count
from typing import Any

from ampcourse.courseware import agent
from ampcourse.courseware.sandbox.wire import Broken, Wire

MAX_ERROR = 500
NO_INPUT = "raw_input was called, but this frontend does not support input requests."


def make() -> Any:
    """Make a shell whose namespace is `__main__`, as in a notebook, without history."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    main = types.ModuleType("__main__")
    main.__builtins__ = builtins  # type: ignore[attr-defined]
    sys.modules["__main__"] = main
    sys.modules[agent.KERNEL_NAME] = agent
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "NoColor"
    made: Any = InteractiveShell.instance(config=config, user_module=main)
    made.showtraceback = lambda *_, **__: None  # nobody reads it, and writing it takes long
    made._tee = lambda channel: contextlib.nullcontext()  # else all output is kept in memory
    made.ask_exit = lambda: None
    builtins.input = no_input
    made.run_cell("pass")  # the first one takes longer
    return made


def no_input(prompt: object = "") -> str:
    """Stand in for `input`: no one is there."""
    from IPython.core.error import StdinNotImplementedError

    raise StdinNotImplementedError(NO_INPUT)


class Work:
    """What the innermost process does: answer requests until the grader is gone."""

    def __init__(self, shell: Any, wire: int) -> None:
        self.shell = shell
        self.file = wire
        self.busy = False
        self.numbers = count(1)

    def run(self) -> None:
        """Answer requests; returns when the connection ends."""
        null = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):
            os.dup2(null, standard)
        sys.path.insert(0, "")
        self.wire = Wire(socket.socket(fileno=self.file))
        handle = signal.signal
        with contextlib.suppress(Broken):
            while True:
                handle(signal.SIGINT, self.interrupted)
                request = self.wire.receive()
                assert request is not None
                self.wire.send(self.answer(request))

    def interrupted(self, *_: object) -> None:
        if self.busy:
            raise KeyboardInterrupt

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do one thing, and tell of an interrupt that came after its end too."""
        try:
            self.busy = True
            result = getattr(self, request["do"])(**request["with"])
            self.busy = False
        except KeyboardInterrupt:
            self.busy = False
            result = {"error": "KeyboardInterrupt: "}
        return result

    def set_up(self, cells: list[str], memory: int) -> dict[str, Any]:
        """Run the lesson's cells, then allow `memory` more bytes than they took."""
        for cell in cells:
            answer = self.execute(cell)
            if answer["error"]:
                return answer
        agent.limit_memory(memory)
        return {"error": ""}

    def execute(self, code: str) -> dict[str, Any]:
        """Run a cell; what is plain Python without IPython, whose reading takes longer than it."""
        name = f"<cell {next(self.numbers)}>"
        try:
            program = compile(code, name, "exec")
        except Exception:  # a magic, an await, or a mistake
            result = self.shell.run_cell(code, store_history=False)
            error = result.error_before_exec or result.error_in_exec
            self.shell.last_execution_result = result = None
        else:
            # Where `inspect.getsource` looks, as for a notebook's cells.
            linecache.cache[name] = (len(code), None, code.splitlines(True), name)
            error = self.run_program(program)
        if error is None:
            return {"error": ""}
        told = agent.describe(error)
        del error
        gc.collect()  # what its frames held is needed for what comes next
        return {"error": f"{told['type']}: {told['message'][:MAX_ERROR]}"}

    def run_program(self, program: types.CodeType) -> BaseException | None:
        """Run compiled code in the learner's namespace and return what it raised."""
        try:
            with self.shell.builtin_trap:  # `display`, `get_ipython`, `exit`
                exec(program, self.shell.user_ns)
        except BaseException as error:
            return error
        return None

    def evaluate(self, call: str) -> dict[str, Any]:
        """Evaluate a call in the learner's namespace."""
        return agent.answer(call, self.shell.user_ns)

    def refused(self) -> dict[str, Any]:
        """Return the forbidden modules that were asked for since the last time."""
        return {"refused": agent.refused()}
