"""Evaluates calls in the learner's kernel and sends back plain data.

The grader sends the text of this file into the kernel it grades, so it imports only the
standard library, touches numpy and torch only where the learner's result is theirs, and
knows nothing of expected values. In a notebook `task` uses the same functions, so a check
means the same in both places.

A value becomes a tree of JSON lists that starts with its type: `["float", "0x1.8p+0"]`.
Types are matched exactly (`type(x) is float`), because a subclass can lie about its value.
"""

import ast
import base64
import json
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

MAX_ITEMS = 200_000
MAX_BYTES = 32_000_000
MAX_DEPTH = 24
MAX_TEXT = 2_000
KERNEL_NAME = "_ampcourse_agent"  # what it is called in a kernel

Tree = list[Any]


class NotPlain(Exception):
    """A value that cannot travel as plain data; the text says what it was."""


class Encoder:
    """Turns one value into a tree, within limits on depth, items and bytes."""

    def __init__(self) -> None:
        self.items = 0
        self.bytes = 0

    def encode(self, value: Any, depth: int = 0) -> Tree:
        """Return the tree of `value`; raises NotPlain for other types and beyond the limits."""
        self.items += 1
        if self.items > MAX_ITEMS:
            raise NotPlain(f"a result of more than {MAX_ITEMS:,} items")
        if depth > MAX_DEPTH:
            raise NotPlain(f"a result nested more than {MAX_DEPTH} deep")
        kind = type(value)
        if value is None:
            return ["none"]
        if kind is bool:
            return ["bool", bool(value)]
        if kind is int:
            self.weigh(value.bit_length() // 4)
            return ["int", hex(value)]
        if kind is float:
            return ["float", value.hex()]
        if kind is complex:
            return ["complex", value.real.hex(), value.imag.hex()]
        if kind is str:
            self.weigh(len(value))
            return ["str", value]
        if kind is bytes:
            self.weigh(len(value))
            return ["bytes", value.hex()]
        if kind is Fraction:
            parts = (value.numerator, value.denominator)
            return ["fraction", *(self.encode(part, depth + 1) for part in parts)]
        if kind is list or kind is tuple:
            return [kind.__name__, [self.encode(item, depth + 1) for item in value]]
        if kind is dict:
            pairs = list(value.items())
            return ["dict", [[self.encode(part, depth + 1) for part in pair] for pair in pairs]]
        return self.encode_array(value)

    def encode_array(self, value: Any) -> Tree:
        """Return the tree of a numpy array or scalar or of a torch tensor."""
        kind, modules = type(value), sys.modules
        numpy, torch = modules.get("numpy"), modules.get("torch")
        if numpy is not None and kind is numpy.ndarray and value.dtype.hasobject is False:
            data, dtype, family = value.tobytes(), value.dtype.name, "numpy"
        elif numpy is not None and isinstance(value, numpy.generic) and value.dtype.type is kind:
            return ["scalar", value.dtype.name, base64.b64encode(value.tobytes()).decode()]
        elif torch is not None and kind in (torch.Tensor, torch.nn.Parameter):
            flat = value.detach().cpu().contiguous().reshape(-1)
            data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
            dtype, family = str(value.dtype).removeprefix("torch."), "torch"
        else:
            raise NotPlain(f"an object of type {kind.__name__}")
        self.weigh(len(data))
        shape = [int(size) for size in value.shape]
        return ["array", family, dtype, shape, base64.b64encode(data).decode()]

    def weigh(self, size: int) -> None:
        self.bytes += size
        if self.bytes > MAX_BYTES:
            raise NotPlain(f"a result of more than {MAX_BYTES // 1_000_000} MB")


def compile_call(call: str) -> Callable[[dict[str, Any]], Any]:
    """Return a function of the namespace: an expression's value, or what a scenario returns."""
    if "\n" not in call:
        code = compile(call, "<check>", "eval")
        return lambda namespace: eval(code, namespace)
    module = ast.parse("def scenario(): pass")
    function = module.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = ast.parse(call).body
    scenario = compile(ast.fix_missing_locations(module), "<check>", "exec")

    def run(namespace: dict[str, Any]) -> Any:
        made: dict[str, Any] = {}
        exec(scenario, namespace, made)
        return made["scenario"]()

    return run


def evaluate(call: str, namespace: dict[str, Any]) -> dict[str, Any]:
    """Return what `call` gave in `namespace`: a value, an error, or why it cannot travel."""
    try:
        value = compile_call(call)(namespace)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return {"error": describe(error)}
    try:
        return {"value": Encoder().encode(value)}
    except KeyboardInterrupt:
        raise
    except NotPlain as reason:
        return {"not_plain": str(reason)}
    except BaseException as error:
        return {"not_plain": f"a value that cannot be read ({describe(error)['type']})"}


def answer(call: str, namespace: dict[str, Any]) -> dict[str, Any]:
    """Return a call's outcome and the forbidden modules that were asked for."""
    try:
        outcome = evaluate(call, namespace)
    except KeyboardInterrupt as error:  # raised by the code, or the grader will not wait for this
        outcome = {"error": describe(error)}
    return {"outcome": outcome, "refused": refused()}


def describe(error: BaseException) -> dict[str, Any]:
    """Return an exception's type, the types it derives from and its message, as text."""
    try:
        message = str(error)[:MAX_TEXT]
    except Exception:
        message = ""
    bases = [base.__name__ for base in type(error).__mro__]
    return {"type": type(error).__name__, "bases": bases, "message": message}


def limit_memory(extra: int) -> None:
    """Allow `extra` bytes beyond what set-up took; the grader also watches from outside."""
    try:
        import resource

        with open("/proc/self/statm") as sizes:
            pages = [int(size) for size in sizes.read().split()]
    except (ImportError, OSError):  # not Linux: only the watch from outside is left
        return
    for kind, held in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
        most = held * resource.getpagesize() + extra
        resource.setrlimit(kind, (most, most))


def refused() -> list[str]:
    """Return the forbidden modules that were asked for since this was called last."""
    names = refusals[:]
    refusals.clear()
    return names


def reply(call: str | None) -> str:
    """Return the answer to a call in `__main__`, or only the refused modules, as JSON."""
    import __main__

    found = {"refused": refused()} if call is None else answer(call, __main__.__dict__)
    return json.dumps(found)


#: Forbidden modules that were asked for; the kernel's import guard adds to it.
refusals: list[str] = []
