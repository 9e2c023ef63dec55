"""A static scale changes no update while gradients fit, and catches nothing when they do not."""

from __future__ import annotations

import math
import re

import pytest
import torch

from ampcourse.amp.static_scaler import StaticScaler


def trained(scale: float | None, steps: int = 20) -> torch.Tensor:
    """Return the weights of a small regression after training with a static scale, or without."""
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(16, 4, generator=generator), torch.randn(16, generator=generator)
    weight = torch.zeros(4, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
    scaler = StaticScaler(scale) if scale else None
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (x @ weight - y).square().mean()
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    return weight.detach()


@pytest.mark.parametrize("exponent", [-24, 0, 1, 10, 24])
def test_a_power_of_two_changes_no_bit_of_fp32_training(exponent: int) -> None:
    assert torch.equal(trained(2.0**exponent), trained(None))


def fp16_gradient_after(scale: float, gradient: float) -> tuple[float, float]:
    """Return the FP16 gradient of a scaled loss, and the FP32 update that a step makes of it."""
    weight = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = StaticScaler(scale)
    scaled = scaler.scale(weight.sum())
    (factor,) = torch.autograd.grad(scaled, weight)
    in_fp16 = (factor * gradient).half()
    weight.grad = in_fp16.float()
    scaler.step(optimizer)
    return in_fp16.item(), -weight.item()


def test_below_its_window_a_gradient_is_zero_and_above_it_infinite() -> None:
    gradient = 2.0**-30
    assert fp16_gradient_after(1.0, gradient) == (0.0, 0.0)
    assert fp16_gradient_after(2.0**10, gradient) == (2.0**-20, gradient)
    assert fp16_gradient_after(2.0**45, gradient) == (2.0**15, gradient)
    assert fp16_gradient_after(2.0**46, gradient) == (math.inf, math.inf)


def test_unscaling_twice_is_refused_and_once_is_enough() -> None:
    weight = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = StaticScaler(8.0)
    for _ in range(2):
        weight.grad = None
        scaler.scale(weight.sum()).backward()
        scaler.unscale_(optimizer)
        assert weight.grad == 1.0
        with pytest.raises(RuntimeError, match=r"unscale_\(\) has already been called"):
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
    assert weight.item() == -1.0


def test_fp16_gradients_are_refused() -> None:
    weight = torch.ones(1, dtype=torch.float16, requires_grad=True)
    weight.grad = torch.ones(1, dtype=torch.float16)
    with pytest.raises(ValueError, match="wrap the optimizer in MasterWeights"):
        StaticScaler(8.0).step(torch.optim.SGD([weight], lr=1.0))


@pytest.mark.parametrize("scale", [0.0, -2.0, math.inf, math.nan])
def test_a_scale_that_is_no_positive_number_is_refused(scale: float) -> None:
    with pytest.raises(ValueError, match=re.escape(f"scale = {scale} must be")):
        StaticScaler(scale)


def test_the_scale_is_a_float32() -> None:
    assert StaticScaler(0.1).get_scale() == float.fromhex("0x1.99999ap-4")
