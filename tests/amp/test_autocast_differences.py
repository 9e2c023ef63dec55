"""Each difference to torch.autocast that is listed is one, and is as described."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from ampcourse.amp.autocast import autocast, is_autocast_enabled
from ampcourse.amp.composites import DIFFERENCES, OTHER_DIFFERENCES
from tests.amp.twin_regions import Region, outcome

X = torch.linspace(-1, 1, 12).reshape(3, 4)
SQUARE = torch.eye(3) + 0.3
STEPS = torch.linspace(-1, 1, 24).reshape(2, 3, 4)


def under(region: Region, call: Callable[[], Any]) -> Any:
    with region("cpu"):
        return call()


OPS: dict[str, Callable[[], Any]] = {
    "bilinear": lambda: functional.bilinear(X, X, STEPS[:, 0, :, None].repeat(1, 1, 4)),
    "corrcoef": lambda: torch.corrcoef(X.cos()),
    "cov": lambda: torch.cov(X),
    "gru": lambda: nn.GRU(4, 5, batch_first=True)(STEPS),
    "linalg_pinv": lambda: torch.linalg.pinv(X),
    "linalg_polar": lambda: torch.linalg.polar(SQUARE),
    "lstm": lambda: nn.LSTM(4, 5, batch_first=True)(STEPS),
}


@pytest.mark.parametrize("name", OPS)
def test_an_op_that_is_listed_differs_and_follows_its_inputs_here(name: str) -> None:
    def run(region: Region) -> Any:
        return under(region, OPS[name])

    ours = outcome(run, autocast)
    assert ours != outcome(run, torch.autocast)
    assert ours == outcome(lambda _: OPS[name](), autocast)


def out_of_composite() -> None:
    out = torch.empty(2, 2)
    call = lambda: torch.tensordot(X[:2], X[:2].t(), dims=1, out=out)  # noqa: E731
    assert under(autocast, call).dtype == torch.float32
    with pytest.raises(RuntimeError):
        under(torch.autocast, call)


def backward_in_a_region() -> None:
    """The backward formula of the inverse, which itself is never cast, multiplies matrices."""

    def run(region: Region) -> Any:
        x = SQUARE.clone().requires_grad_()
        with region("cpu"):
            torch.linalg.inv(x).sum().backward()
        return x.grad

    assert outcome(run, autocast) != outcome(run, torch.autocast)
    outside = SQUARE.clone().requires_grad_()
    torch.linalg.inv(outside).sum().backward()
    assert outside.grad is not None
    assert outcome(run, autocast) == outcome(lambda _: outside.grad, autocast)


def attention_in_evaluation() -> None:
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.randn(2, 5, 8)
    with torch.no_grad():
        ours, theirs = (
            under(region, lambda: attention(x, x, x, need_weights=False)[0])
            for region in (autocast, torch.autocast)
        )
    assert ours.dtype == theirs.dtype == torch.bfloat16
    assert (ours.float() - theirs.float()).abs().max() <= 2**-7 * theirs.float().abs().max()


def disable_torch_function() -> None:
    for region, expected in ((autocast, torch.float32), (torch.autocast, torch.bfloat16)):
        with region("cpu"), torch._C.DisableTorchFunction():
            assert torch.mm(SQUARE, SQUARE).dtype == expected


def checkpointing() -> None:
    x = X.clone().requires_grad_()

    def kept(context_fn: Any) -> None:
        with autocast("cpu"):
            y = checkpoint(
                lambda x: (x @ x.t()).cos(), x, use_reentrant=False, context_fn=context_fn
            )
        y.sum().backward()

    with autocast("cpu"):
        assert not torch.is_autocast_enabled("cpu")
        assert is_autocast_enabled("cpu")
    with pytest.raises(torch.utils.checkpoint.CheckpointError):
        kept(lambda: (contextlib.nullcontext(), contextlib.nullcontext()))
    kept(lambda: (contextlib.nullcontext(), autocast("cpu")))


def recursing_decorator() -> None:
    def depth(region: Any, n: int) -> Callable[[int], None]:
        @region
        def call(n: int) -> None:
            if n:
                call(n - 1)

        return call

    depth(autocast("cpu"), 1)(1)
    assert not is_autocast_enabled("cpu")
    try:
        depth(torch.autocast("cpu"), 1)(1)
        assert torch.is_autocast_enabled("cpu")
    finally:
        torch.set_autocast_enabled("cpu", False)


OTHERS: dict[str, Callable[[], None]] = {
    "out=": out_of_composite,
    "backward in a region": backward_in_a_region,
    "attention in evaluation": attention_in_evaluation,
    "DisableTorchFunction": disable_torch_function,
    "is_autocast_enabled": checkpointing,
    "a decorator that recurses": recursing_decorator,
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_difference_is_as_described(name: str) -> None:
    OTHERS[name]()


def test_every_listed_difference_is_shown_here() -> None:
    assert OPS.keys() == DIFFERENCES.keys()
    assert OTHERS.keys() == OTHER_DIFFERENCES.keys()
