"""quantize_ste: rounds forward, lets gradients through backward."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from ampcourse.quantize import quantize

torch = pytest.importorskip("torch")
quantize_ste = import_module("ampcourse.quantize.straight_through").quantize_ste


def test_forward_is_quantize_bit_for_bit() -> None:
    x = torch.randn(1000, generator=torch.Generator().manual_seed(0)) * 1e3
    x.requires_grad_()
    settings: list[Any] = [("e4m3", "nearest_even", "saturate"), ("fp16", "up", None)]
    for fmt, mode, overflow in settings:
        found = quantize_ste(x, fmt, mode, overflow)
        assert torch.equal(found, quantize(x, fmt, mode, overflow))
        assert found.requires_grad


def test_gradients_pass_unchanged_even_where_the_result_is_zero_or_saturated() -> None:
    x = torch.tensor([1e-9, 0.3, 1e6, -2.0], requires_grad=True)
    gradient = torch.tensor([1.0, -2.0, 3.0, 0.5])
    y = quantize_ste(x, "e4m3", overflow="saturate")
    assert y.tolist() == [0.0, 0.3125, 448.0, -2.0]
    y.backward(gradient)
    assert torch.equal(x.grad, gradient)


def test_half_width_tensors_and_second_derivatives_go_through() -> None:
    x = torch.tensor([0.3], dtype=torch.bfloat16, requires_grad=True)
    (gradient,) = torch.autograd.grad(quantize_ste(x, "e4m3") ** 2, x, create_graph=True)
    assert gradient.dtype == torch.bfloat16
    assert gradient.item() == 0.625
    z = torch.tensor([0.3], dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(quantize_ste(z, "e4m3") ** 2, z, create_graph=True)
    (second,) = torch.autograd.grad(gradient, z)
    assert second.item() == 2.0


def test_stochastic_rounding_takes_its_generator() -> None:
    x = torch.full((100,), 1.03, requires_grad=True)
    first, again = (
        quantize_ste(x, "e4m3", "stochastic", generator=torch.Generator().manual_seed(3))
        for _ in range(2)
    )
    assert torch.equal(first, again)
    assert set(first.tolist()) == {1.0, 1.125}


def test_quantize_itself_cuts_the_gradient() -> None:
    x = torch.tensor([0.3], requires_grad=True)
    assert not quantize(x, "e4m3").requires_grad
    assert not quantize(torch.nn.Parameter(torch.ones(2)), "fp32").requires_grad


def test_arrays_have_no_gradients() -> None:
    with pytest.raises(TypeError, match="quantize_ste takes a torch tensor, not a ndarray"):
        quantize_ste(np.ones(3), "e4m3")
