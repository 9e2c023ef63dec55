"""Calls of every op that torch has, with inputs that suit it.

torch keeps samples of inputs for its own tests, over 700 functions with about 19,000 samples. A
mode notes which ops they lead to, among them those inside functions in Python.
"""

from __future__ import annotations

import contextlib
import sys
import types
import unittest
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

from ampcourse.amp.composites import opened

#: Samples of an op, calls per name: enough to meet each overload, few enough to take a minute.
SAMPLES, CALLS = 10, 6


@dataclass(frozen=True)
class Call:
    """A function that the mode was shown, with its arguments."""

    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def name(self) -> str:
        """The function's name, which for a function in C++ is that of the op."""
        return self.func.__name__


class _Recorder(TorchFunctionMode):
    """Keeps each call, and opens Python functions to see the calls inside."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self._open: set[Any] = set()

    def __torch_function__(self, func: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        self.calls.append(Call(func, args, kwargs))
        body = None if func in self._open else opened(func)
        if body is None:
            return func(*args, **kwargs)
        self._open.add(func)
        try:
            with self:
                return body(*args, **kwargs)
        finally:
            self._open.discard(func)


def fresh(tree: Any) -> Any:
    """Return arguments with tensors copied, so that no call changes another's input."""
    return tree_map(lambda x: x.detach().clone() if isinstance(x, torch.Tensor) else x, tree)


def recorded_calls(samples: int = SAMPLES, calls: int = CALLS) -> dict[str, list[Call]]:
    """Return, per name, calls that torch's samples lead to, those inside Python functions too.

    Left out are calls without a float32 tensor, in-place ops and out=, which autocast passes by.
    A name that is both a C++ op and a Python function around it stands for the op.
    """
    found: dict[str, list[Call]] = defaultdict(list)
    # torch's samples seed over and over, and torch.manual_seed notes a stack for each kind of
    # device that is not there: minutes in all.
    with mock.patch("torch.manual_seed", torch.default_generator.manual_seed):
        given = [*_samples(samples), *_more_samples()]
    for function, args, kwargs in given:
        torch.default_generator.manual_seed(0)
        with contextlib.suppress(Exception), _Recorder() as recorder:
            function(*fresh(args), **fresh(kwargs))
        for call in recorder.calls:
            if _is_of_interest(call):
                found[call.name].append(call)
    return {name: _few(seen, calls) for name, seen in sorted(found.items())}


def _is_of_interest(call: Call) -> bool:
    name = getattr(call.func, "__name__", "__get__")
    if name in ("__get__", "__set__") or call.kwargs.get("out") is not None:
        return False
    if name.endswith("_") and not name.endswith("__"):
        return False
    leaves = tree_leaves((call.args, call.kwargs))
    return any(isinstance(x, torch.Tensor) and x.dtype == torch.float32 for x in leaves)


def _few(calls: list[Call], count: int) -> list[Call]:
    ops = [call for call in calls if not isinstance(call.func, types.FunctionType)] or calls
    return ops[:: max(1, len(ops) // count)]


def _samples(count: int) -> Iterator[tuple[Callable[..., Any], Any, Any]]:
    """Yield calls of torch's own sample inputs, as function, method and operator."""
    try:
        import expecttest  # noqa: F401
    except ImportError:
        # torch's samples live beside its tests, whose base class wants this package.
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        sys.modules["expecttest"] = stand_in
    from torch.testing._internal.common_methods_invocations import op_db

    for op in op_db:
        if torch.float32 not in op.dtypes:
            continue
        torch.default_generator.manual_seed(0)
        samples = list(islice(op.sample_inputs("cpu", torch.float32), 200 * count - 199))
        for sample in samples[:: max(1, len(samples) // count)]:
            for function in (op.op, op.method_variant, op.operator_variant):
                if function is not None:
                    yield function, (sample.input, *sample.args), sample.kwargs


def _more_samples() -> Iterator[tuple[Callable[..., Any], Any, Any]]:
    """Yield calls of ops that torch has no samples for.

    Not torch.lstm: whether its fused layer runs in 16 bits at all depends on the CPU.
    """
    x, square = torch.randn(3, 4), torch.randn(3, 3)
    gates = (torch.randn(8, 4), torch.randn(8, 2), torch.randn(8), torch.randn(8))
    three = (torch.randn(6, 4), torch.randn(6, 2), torch.randn(6), torch.randn(6))
    one = (torch.randn(2, 4), torch.randn(2, 2), torch.randn(2), torch.randn(2))
    state, batch = torch.randn(3, 2), torch.randn(5, 3, 4)
    layers = (True, 1, 0.0, False, False, False)
    yield torch.chain_matmul, (x, torch.randn(4, 2), torch.randn(2, 3)), {}
    yield torch.conv_tbc, (batch, torch.randn(2, 4, 6), torch.randn(6)), {}
    yield torch.inverse, (square,), {}
    yield torch.orgqr, (square, torch.randn(3)), {}
    yield torch.fake_quantize_per_tensor_affine, (x, 0.1, 0, 0, 255), {}
    yield torch._addmm_activation, (torch.randn(2), x, torch.randn(4, 2)), {}
    yield torch.lstm_cell, (x, (state, state), *gates), {}
    yield torch.gru_cell, (x, state, *three), {}
    yield torch.rnn_tanh_cell, (x, state, *one), {}
    yield torch.rnn_relu_cell, (x, state, *one), {}
    yield torch.gru, (batch, state[None], three, *layers), {}
    yield torch.rnn_tanh, (batch, state[None], one, *layers), {}
    yield torch.rnn_relu, (batch, state[None], one, *layers), {}
