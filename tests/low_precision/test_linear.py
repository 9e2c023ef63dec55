"""The three products of a quantised layer against torch's own, on operands rounded elsewhere."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

import pytest

pytest.importorskip("torch")

import torch
from torch import nn
from torch.nn import functional

from ampcourse.blocks import quantize_blocks
from ampcourse.low_precision import RECIPES, QuantizedLinear, Recipe, convert

Rounding = Callable[[torch.Tensor, int], torch.Tensor]


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def gradients(
    layer: nn.Module, x: torch.Tensor, dy: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return y, dx and dW of a layer."""
    x = x.clone().requires_grad_()
    y = layer(x)
    weight = next(layer.parameters())
    dx, dw = torch.autograd.grad(y, (x, weight), dy)
    return y.detach(), dx, dw


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(40, 28), (3, 28, 28), (2, 3, 5, 28)])
def test_without_rounding_the_layer_is_nn_linear_bit_for_bit(
    shape: tuple[int, ...], bias: bool
) -> None:
    ours = QuantizedLinear(28, 48, "fp32", bias)
    theirs = nn.Linear(28, 48, bias)
    theirs.load_state_dict(ours.state_dict())
    dy = random(*shape[:-1], 48, seed=1)
    for found, expected in zip(
        gradients(ours, random(*shape), dy), gradients(theirs, random(*shape), dy), strict=True
    ):
        assert torch.equal(found, expected)
    if bias:
        for layer in (ours, theirs):
            layer(random(*shape)).backward(dy)
        assert torch.equal(ours.bias.grad, theirs.bias.grad)


def in_blocks(name: str) -> Rounding:
    return lambda x, axis: quantize_blocks(x, name, axis, partial="pad").dequantize()


def per_tensor(dtype: torch.dtype) -> Rounding:
    def rounding(x: torch.Tensor, axis: int) -> torch.Tensor:
        largest = torch.finfo(dtype).max
        scale = torch.exp2(torch.floor(torch.log2(largest / x.abs().amax())))
        return (x * scale).clamp(-largest, largest).to(dtype).float() / scale

    return rounding


ORACLES: dict[str, tuple[Rounding, Rounding]] = {
    "bf16": (lambda x, axis: x.bfloat16().float(),) * 2,
    "fp8": (per_tensor(torch.float8_e4m3fn), per_tensor(torch.float8_e5m2)),
    "mxfp8": (in_blocks("mxfp8_e4m3"),) * 2,
    "mxfp4": (in_blocks("mxfp4"),) * 2,
    "nvfp4": (in_blocks("nvfp4"),) * 2,
}


@pytest.mark.parametrize(("tokens", "inputs", "outputs"), [(64, 96, 32), (40, 28, 10)])
@pytest.mark.parametrize("name", list(ORACLES))
def test_each_product_takes_operands_rounded_along_the_axis_that_it_sums_over(
    name: str, tokens: int, inputs: int, outputs: int
) -> None:
    layer = QuantizedLinear(inputs, outputs, name)
    x, dy = random(tokens, inputs), random(tokens, outputs, seed=1) * 2.0**-9
    forward, backward = ORACLES[name]
    weight, bias = layer.weight.detach(), layer.bias.detach()
    y, dx, dw = gradients(layer, x, dy)
    assert torch.equal(y, functional.linear(forward(x, -1), forward(weight, -1), bias))
    assert torch.equal(dx, backward(dy, -1) @ forward(weight, 0))
    assert torch.equal(dw, backward(dy, 0).T @ forward(x, 0))


def test_formats_of_weights_activations_and_gradients_go_where_the_recipe_says() -> None:
    recipe = Recipe("mixed", weights="e2m1", activations="e4m3", gradients="e5m2")
    layer = QuantizedLinear(32, 32, recipe)
    x, dy = random(32, 32), random(32, 32, seed=1)
    w4 = in_table(layer.weight.detach(), torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6]))
    x8, dy8 = x.to(torch.float8_e4m3fn).float(), dy.to(torch.float8_e5m2).float()
    y, dx, dw = gradients(layer, x, dy)
    assert torch.equal(y, functional.linear(x8, w4, layer.bias.detach()))
    assert torch.equal(dx, dy8 @ w4)
    assert torch.equal(dw, dy8.T @ x8)


def in_table(x: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    nearest = (x.abs()[..., None] - table).abs().argmin(-1)
    return table[nearest] * x.sign()


@pytest.mark.parametrize("name", list(RECIPES))
def test_master_weights_keep_updates_that_no_operand_format_would(name: str) -> None:
    layer = QuantizedLinear(32, 32, name)
    before = layer.weight.detach().clone()
    optimizer = torch.optim.SGD(layer.parameters(), lr=2.0**-20)
    layer(random(64, 32)).sum().backward()
    expected = before - layer.weight.grad * 2.0**-20
    optimizer.step()
    assert layer.weight.dtype == torch.float32
    assert torch.equal(layer.weight.detach(), expected)
    assert not torch.equal(layer.weight.detach(), before)


def test_the_bias_and_its_gradient_are_not_rounded() -> None:
    layer = QuantizedLinear(32, 8, "mxfp4")
    dy = random(64, 8, seed=3)
    layer(random(64, 32)).backward(dy)
    assert torch.equal(layer.bias.grad, dy.sum(0))


def test_a_delayed_scale_clips_a_jump_for_one_step() -> None:
    layer = QuantizedLinear(32, 32, "fp8_delayed", bias=False)
    nn.init.eye_(layer.weight)
    x = torch.full((4, 32), 1.0)
    for _ in range(3):
        layer(x)
    # 1.75 is the largest number of E4M3 over the scale of an amax of 1.
    assert [layer(100 * x).max().item(), layer(100 * x).max().item()] == [1.75, 96.0]
    current = QuantizedLinear(32, 32, "fp8", bias=False)
    nn.init.eye_(current.weight)
    assert current(100 * x).max().item() == 96.0


def test_histories_hold_the_amax_of_each_operand_and_grow_in_training_only() -> None:
    layer = QuantizedLinear(32, 8, "fp8_delayed")
    x, dy = random(4, 32), random(4, 8, seed=1)
    layer(x).backward(dy)
    layer.eval()
    layer((1000 * x).requires_grad_()).backward(1000 * dy)
    histories = [q.history for q in (layer.activations, layer.weights, layer.gradients)]
    tensors = (x, layer.weight.detach(), dy)
    for history, tensor in zip(histories, tensors, strict=True):
        assert history is not None
        assert history.steps == (tensor.abs().max().item(),)
    assert QuantizedLinear(32, 8, "fp8").activations.history is None
    assert QuantizedLinear(32, 8, "mxfp8").activations.scale is None


@pytest.mark.parametrize("name", ["mxfp4", "nvfp4", "fp8"])
def test_stochastic_gradients_have_the_mean_of_unrounded_ones(name: str) -> None:
    recipe = replace(RECIPES[name], weights="fp32", gradient_rounding="stochastic")
    layer = QuantizedLinear(32, 32, recipe, bias=False)
    nn.init.eye_(layer.weight)
    dy = random(8, 32, seed=2).clamp(-1.4, 1.4)
    dy[:, ::16] = 1.5  # MXFP4's scale is then 1/4 and clamps nothing
    torch.manual_seed(0)
    drawn = torch.stack([gradients(layer, random(8, 32), dy)[1] for _ in range(400)]).double()
    mean, deviation = drawn.mean(0), drawn.std(0)
    assert (deviation > 0).any()
    assert ((mean - dy).abs() <= 5 * deviation / 400**0.5 + 1e-6).all()
    nearest = QuantizedLinear(32, 32, replace(recipe, gradient_rounding="nearest_even"), False)
    nn.init.eye_(nearest.weight)
    assert (gradients(nearest, random(8, 32), dy)[1] - dy).abs().max() > 1e-3


def test_only_the_gradients_are_rounded_stochastically() -> None:
    layer = QuantizedLinear(32, 8, "nvfp4_stochastic")
    x = random(16, 32)
    assert torch.equal(layer(x), layer(x))


@pytest.mark.parametrize("frozen", ["x", "weight", "bias"])
def test_what_needs_no_gradient_gets_none_and_changes_no_other(frozen: str) -> None:
    layer, whole = QuantizedLinear(32, 8, "mxfp8"), QuantizedLinear(32, 8, "mxfp8")
    whole.load_state_dict(layer.state_dict())
    x, y = random(16, 32).requires_grad_(), random(16, 32).requires_grad_()
    tensors = {"x": x, "weight": layer.weight, "bias": layer.bias}
    tensors[frozen].requires_grad_(False)
    dy = random(16, 8, seed=1)
    layer(x).backward(dy)
    whole(y).backward(dy)
    for name, full in {"x": y, "weight": whole.weight, "bias": whole.bias}.items():
        found = tensors[name].grad
        assert (found is None) if name == frozen else torch.equal(found, full.grad)


def test_autocast_does_not_reach_the_products() -> None:
    layer = QuantizedLinear(32, 8, "fp8")
    x, dy = random(16, 32), random(16, 8, seed=1)
    plain = gradients(layer, x, dy)
    with torch.autocast("cpu", torch.bfloat16):
        under = gradients(layer, x, dy)
    assert all(torch.equal(one, other) for one, other in zip(plain, under, strict=True))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_16_bit_input_gives_fp32_and_gets_a_gradient_of_its_own_type(dtype: torch.dtype) -> None:
    for name in RECIPES:
        x = random(4, 3, 32).to(dtype).requires_grad_()
        layer = QuantizedLinear(32, 8, name)
        y = layer(x)
        y.sum().backward()
        assert (y.dtype, x.grad.dtype, layer.weight.grad.dtype) == (
            torch.float32,
            dtype,
            torch.float32,
        )
    with pytest.raises(TypeError, match=r"cannot quantise torch\.float64"):
        QuantizedLinear(32, 8)(random(4, 32).double())


def test_a_second_derivative_is_refused() -> None:
    x = random(4, 32).requires_grad_()
    (dx,) = torch.autograd.grad(
        QuantizedLinear(32, 8, "fp8")(x).square().sum(), x, create_graph=True
    )
    with pytest.raises(RuntimeError, match="once_differentiable"):
        dx.sum().backward()


def test_empty_batches_and_copies_work() -> None:
    for name in RECIPES:
        layer = QuantizedLinear(32, 8, name)
        assert layer(torch.zeros(0, 32)).shape == (0, 8)
        layer(torch.zeros(2, 0, 32)).sum().backward()
        assert torch.equal(copy.deepcopy(layer)(random(2, 32)), layer(random(2, 32)))


class Net(nn.Module):
    """Two linear layers, one of them nested."""

    twin: nn.Module

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(32, 32), nn.ReLU())
        self.head = nn.Linear(32, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.inner(x))


def test_convert_keeps_parameters_names_and_the_optimizer() -> None:
    torch.manual_seed(0)
    net = Net()
    state = {name: value.clone() for name, value in net.state_dict().items()}
    parameters = list(net.parameters())
    drawn = torch.get_rng_state()
    assert convert(net, "mxfp8") is net
    assert torch.equal(torch.get_rng_state(), drawn)
    assert all(one is other for one, other in zip(net.parameters(), parameters, strict=True))
    assert all(torch.equal(value, state[name]) for name, value in net.state_dict().items())
    assert isinstance(net.inner[0], QuantizedLinear)
    assert isinstance(net.head, QuantizedLinear)
    assert convert(net, "fp8").head.recipe.name == "fp8"
    assert all(one is other for one, other in zip(net.parameters(), parameters, strict=True))


def test_convert_leaves_a_layer_with_two_names_one_layer() -> None:
    net = Net()
    net.twin = net.head
    convert(net, "mxfp4")
    assert net.twin is net.head
    assert isinstance(net.twin, QuantizedLinear)


def test_convert_keeps_what_it_is_told_to_and_the_mode() -> None:
    net = convert(Net().eval(), "fp8", keep=["head"])
    assert type(net.head) is nn.Linear
    assert isinstance(net.inner[0], QuantizedLinear)
    assert not net.inner[0].training
    with pytest.raises(ValueError, match=r"keep = \['haed'\] are no modules"):
        convert(Net(), "fp8", keep=["haed"])
    with pytest.raises(ValueError, match=r"the model is one nn\.Linear"):
        convert(nn.Linear(2, 2), "fp8")
    with pytest.raises(ValueError, match="recipe = 'fp9' is unknown"):
        convert(Net(), "fp9")


def test_a_layer_says_its_recipe() -> None:
    assert "recipe=mxfp4" in repr(QuantizedLinear(32, 8, "mxfp4"))
    assert "mxfp4" in repr(QuantizedLinear(32, 8, "mxfp4").weights)
