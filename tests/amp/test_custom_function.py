"""custom_fwd and custom_bwd do in our regions what torch.amp's do in torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from ampcourse.amp.autocast import autocast
from ampcourse.amp.custom_function import custom_bwd, custom_fwd

KINDS = {
    "ours": (autocast, custom_fwd, custom_bwd),
    "torchs": (torch.autocast, torch.amp.custom_fwd, torch.amp.custom_bwd),
}
kinds = pytest.mark.parametrize("kind", KINDS)


def product(kind: str, cast_inputs: torch.dtype | None, seen: list[Any]) -> type[Any]:
    """Return a matrix product written as a custom function, which notes the types it meets."""
    _, fwd, bwd = KINDS[kind]

    class Product(torch.autograd.Function):
        @staticmethod
        @fwd(device_type="cpu", cast_inputs=cast_inputs)
        def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor, note: Any = None) -> torch.Tensor:
            ctx.save_for_backward(a, b)
            out = a @ b
            seen.append((a.dtype, b.dtype, out.dtype, note))
            return out

        @staticmethod
        @bwd(device_type="cpu")
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            a, b = ctx.saved_tensors
            by_a, by_b = grad @ b.t().to(grad.dtype), a.t().to(grad.dtype) @ grad
            again = torch.mm(torch.ones(2, 2), torch.ones(2, 2))
            seen.append((grad.dtype, by_a.dtype, again.dtype))
            return by_a, by_b, None

    return Product


def trace(kind: str, cast_inputs: torch.dtype | None, **region: Any) -> list[Any]:
    seen: list[Any] = []
    function = product(kind, cast_inputs, seen)
    torch.manual_seed(0)
    a, b = (torch.randn(2, 2, requires_grad=True) for _ in range(2))
    with KINDS[kind][0]("cpu", **region):
        out = function.apply(a, b, "text")
    out.sum().backward()
    assert a.grad is not None
    assert b.grad is not None
    return [*seen, out.dtype, out.tolist(), a.grad.dtype, a.grad.tolist(), b.grad.tolist()]


@pytest.mark.parametrize("cast_inputs", [None, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_forward_and_backward_meet_torchs_types_and_values(
    cast_inputs: torch.dtype | None, enabled: bool, dtype: torch.dtype
) -> None:
    ours = trace("ours", cast_inputs, enabled=enabled, dtype=dtype)
    assert ours == trace("torchs", cast_inputs, enabled=enabled, dtype=dtype)


@kinds
def test_without_cast_inputs_the_backward_has_the_forwards_autocast(kind: str) -> None:
    _, (_, _, again), *_ = trace(kind, None, dtype=torch.float16)
    assert again == torch.float16


@kinds
def test_cast_inputs_switches_autocast_off_forward_and_backward(kind: str) -> None:
    (a, b, out, _), (_, _, again), *_ = trace(kind, torch.float32)
    assert {a, b, out, again} == {torch.float32}


@kinds
def test_float64_and_containers_are_cast_as_in_torch(kind: str) -> None:
    fwd = KINDS[kind][1]
    seen: list[Any] = []

    @fwd(device_type="cpu", cast_inputs=torch.bfloat16)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> None:
        (first, second), table, text = args
        seen.extend([first.dtype, second.dtype, table["x"].dtype, text, kwargs["y"].dtype])

    ctx = type("Context", (), {})()
    wide = torch.ones(1, dtype=torch.float64)
    with KINDS[kind][0]("cpu"):
        forward(ctx, (torch.ones(1), wide), {"x": torch.ones(1)}, "text", y=torch.ones(1))
    assert seen == [torch.bfloat16, torch.float64, torch.bfloat16, "text", torch.bfloat16]
    assert not ctx._fwd_used_autocast


@pytest.mark.parametrize("decorator", [custom_fwd, custom_bwd])
def test_a_device_type_that_is_no_text_raises_as_in_torch(decorator: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="device_type"):
        decorator(device_type=0)
