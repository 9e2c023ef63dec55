"""A workload has the operations torch counts and the bytes that follow from the shapes."""

from __future__ import annotations

import copy
from collections import Counter

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from ampcourse.benchmark.kernels import Kernel, size
from ampcourse.benchmark.layers import RECIPES, Workload, workload
from ampcourse.memory.rehearsal import default_loss

X = 2 * 3 * 8 * 8  # numbers in 2 images of 3 x 8 x 8
Y = 2 * 4 * 8 * 8  # and in those of 4 channels


class Block(nn.Module):
    """A small residual net: what is written in forward is no module of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.second = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.last = nn.Linear(8, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.relu(self.norm(self.first(x)))
        y = self.second(x)
        y += x
        return self.last(self.relu(y).mean((2, 3)))


def moved(work: Workload, kind: str) -> dict[str, int]:
    """Return the bytes by phase of one kind of kernel."""
    found: Counter[str] = Counter()
    for kernel in work.of_kind(kind).kernels:
        found[kernel.phase] += kernel.bytes
    return dict(found)


def convolution(**more: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(4, 8, 3, **more), nn.Flatten(), nn.LazyLinear(10))


NETS = {
    "plain": convolution,
    "strided": lambda: convolution(stride=2),
    "dilated and padded": lambda: convolution(dilation=2, padding=3),
    "transposed": lambda: nn.Sequential(
        nn.ConvTranspose2d(4, 8, 3, stride=2), nn.Flatten(), nn.LazyLinear(10)
    ),
    "one axis": lambda: nn.Sequential(nn.Flatten(2), nn.Conv1d(4, 8, 3), nn.Flatten()),
    "first needs no gradient": lambda: nn.Sequential(convolution(), nn.ReLU(), nn.Linear(10, 3)),
}


@pytest.mark.parametrize("name", NETS)
def test_operations_are_those_that_torch_counts(name: str) -> None:
    model = NETS[name]()
    x = torch.randn(3, 4, 9, 9)
    model(x)
    with FlopCounterMode(display=False) as theirs:
        default_loss(model(x)).backward()
    assert workload(model, x).flops == theirs.get_total_flops() > 0


def test_a_grouped_convolution_does_its_forward_operations_twice_more_backward() -> None:
    # Not compared with torch's counter: of 2.14.1's, the weights' gradient ignores the groups.
    model = nn.Sequential(nn.Conv2d(4, 4, 1), nn.Conv2d(4, 8, 3, groups=4))
    x = torch.randn(3, 4, 9, 9)
    with FlopCounterMode(display=False) as theirs:
        model(x)
    forward = 2 * 4 * 4 * 81 * 3 + 2 * (8 * 1 * 9) * 49 * 3
    assert theirs.get_total_flops() == forward
    assert workload(model, x).flops == 3 * forward - 2 * 4 * 4 * 81 * 3  # no images' gradient


def test_a_transformers_operations_are_those_that_torch_counts_and_its_attention() -> None:
    model = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)
    x = torch.randn(2, 5, 16)
    with FlopCounterMode(display=False) as theirs:
        model(x).mean().backward()
    attention = 7 * (2 * 2 * 2 * 5 * 5 * 8)  # 2 heads of 8 channels; torch counts 0 on a CPU
    assert workload(model, x).flops == theirs.get_total_flops() + attention


class Attention(nn.Module):
    """Attention by torch's own kernel, which is no product of matrices to a dispatch mode."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(x, x, x)


def test_attention_in_one_kernel_does_two_products_forward_and_five_backward() -> None:
    # torch 2.14.1 counts 0 for the CPU's kernel. Backward, the scores are computed again.
    model = nn.Sequential(nn.Linear(16, 16), Attention())
    product = 2 * 2 * 3 * 5 * 5 * 16  # 2 images, 3 heads, 5 places by 5 places, 16 channels
    found: Counter[str] = Counter()
    for kernel in workload(model, (2, 3, 5, 16)).kernels:
        if "attention" in kernel.op:
            found[kernel.phase] += kernel.flops
    assert found == {"forward": 2 * product, "backward": 5 * product}


def test_an_expanded_tensor_is_read_as_often_as_it_is_stored() -> None:
    one = torch.ones(1).expand(1000)
    assert (size(one), size(torch.ones(1000)), size(torch.ones(1000)[:10])) == (4, 4000, 40)


def test_recipes_change_bytes_but_not_operations() -> None:
    works = {recipe: workload(Block(), (2, 3, 8, 8), recipe) for recipe in RECIPES}
    assert len({work.flops for work in works.values()}) == 1
    assert works["amp-fp16"].bytes < works["fp32"].bytes


@pytest.mark.parametrize(("recipe", "width"), [("fp32", 4), ("amp-bf16", 2), ("fp16", 2)])
def test_a_convolution_moves_its_images_and_weights_once_per_kernel(
    recipe: str, width: int
) -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1))
    found = moved(workload(model, (2, 3, 8, 8), recipe), "convolution")
    w1, w2 = 4 * 27, 4 * 36
    assert found["forward"] == width * (X + w1 + Y + Y + w2 + Y)
    # By weight for both; by input only for the second, as nobody asks for the images' gradient.
    assert found["backward"] == width * (Y + Y + w2 + Y + Y + w2 + X + Y + w1)


def test_a_batch_norm_moves_three_times_its_images_forward_and_five_times_backward() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4))
    found = moved(workload(model, (2, 3, 8, 8)), "batch norm")
    few = 12 * 4 * 4  # vectors of 4 channels
    assert 0 <= found["forward"] - 4 * 3 * Y <= few
    assert 0 <= found["backward"] - 4 * 5 * Y <= few


@pytest.mark.parametrize("inplace", [False, True])
def test_a_relu_moves_twice_its_numbers_forward_and_three_times_backward(inplace: bool) -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(inplace))
    found = moved(workload(model, (2, 3, 8, 8)), "relu")
    assert found == {"forward": 4 * 2 * Y, "backward": 4 * 3 * Y}


def test_a_residual_sum_moves_three_times_its_numbers_forward_and_where_gradients_meet() -> None:
    found = moved(workload(Block(), (2, 3, 8, 8)), "add")
    counter = 8 + 8  # the batch norm's count of batches
    assert found == {"forward": 4 * 3 * 2 * 8 * 64 + counter, "backward": 4 * 3 * 2 * 8 * 64}


def test_a_max_pooling_moves_int64_indices() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.MaxPool2d(2))
    pooled = Y // 4
    found = moved(workload(model, (2, 3, 8, 8)), "pooling")
    assert found == {
        "forward": 4 * Y + (4 + 8) * pooled,
        "backward": (4 + 8) * pooled + 4 * Y,
    }


def test_views_move_nothing() -> None:
    flat = workload(nn.Sequential(nn.Flatten(), nn.Linear(192, 10)), (2, 3, 8, 8))
    line = workload(nn.Sequential(nn.Linear(192, 10)), (2, 192))
    assert flat.bytes == line.bytes


def test_the_optimizer_moves_what_its_update_needs() -> None:
    sgd, momentum = (
        sum(k.bytes for k in workload(nn.Linear(64, 64, bias=False), (1, 64), "fp32", name).kernels
            if k.layer == "optimizer")
        for name in ("sgd", "momentum")
    )  # fmt: skip
    # p += g reads two and writes one; buf = m buf, buf += g, p += buf: 2 + 3 + 3.
    assert (sgd, momentum) == (3 * 4 * 64 * 64, 8 * 4 * 64 * 64)


def test_autocast_casts_each_weight_and_its_gradient_once() -> None:
    model = nn.Sequential(nn.Linear(64, 64, bias=False), nn.Linear(64, 64, bias=False))
    casts = moved(workload(model, (1, 64), "amp-bf16"), "cast")
    weights = 2 * 64 * 64
    images = (4 + 2) * 64  # the input, and the output for the FP32 loss
    assert casts["forward"] == (4 + 2) * weights + 2 * images
    assert casts["backward"] == (2 + 4) * weights + images


def test_a_scaler_reads_and_writes_every_gradient_once() -> None:
    model = nn.Linear(64, 64, bias=False)
    amp = {recipe: workload(model, (1, 64), recipe) for recipe in ("amp-fp16", "amp-bf16")}
    assert amp["amp-fp16"].bytes - amp["amp-bf16"].bytes == 2 * 4 * 64 * 64


def test_backward_kernels_belong_to_the_layer_they_undo() -> None:
    found = {
        (kernel.layer, kernel.op)
        for kernel in workload(Block(), (2, 3, 8, 8)).kernels
        if kernel.phase == "backward"
    }
    assert {
        ("first", "convolution by weight"),
        ("second", "convolution by weight"),
        ("second", "convolution by input"),
        ("norm", "native_batch_norm_backward"),
        ("relu", "threshold_backward"),
        ("last", "mm"),
        ("loss", "nll_loss_backward"),
    } <= found
    assert ("first", "convolution by input") not in found
    assert {layer for layer, _ in found} == {"first", "second", "norm", "relu", "last", "loss", ""}


def test_a_layers_operations_are_twice_its_forward_ones_backward() -> None:
    by: Counter[tuple[str, str]] = Counter()
    for kernel in workload(Block(), (2, 3, 8, 8)).kernels:
        by[kernel.layer, kernel.phase] += kernel.flops
    assert by["second", "backward"] == 2 * by["second", "forward"] == 4 * 8 * 8 * 9 * 2 * 64
    assert by["last", "backward"] == 2 * by["last", "forward"] == 4 * 2 * 8 * 10
    assert by["first", "backward"] == by["first", "forward"]


def test_the_model_and_its_hooks_stay_as_they_were() -> None:
    model = Block()
    before = copy.deepcopy(model.state_dict())
    workload(model, (2, 3, 8, 8), "amp-fp16")
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_a_loss_of_ones_own_is_counted() -> None:
    def squares(output: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(output, torch.zeros_like(output))

    work = workload(nn.Linear(8, 8), (2, 8), loss=squares)
    assert "mse_loss" in {kernel.op for kernel in work.kernels if kernel.layer == "loss"}


def test_an_unknown_recipe_is_refused() -> None:
    with pytest.raises(ValueError, match="'bf16' is unknown; choose from fp32, default, tf32"):
        workload(Block(), (2, 3, 8, 8), "bf16")


def test_intensity_is_operations_per_byte() -> None:
    kernels = (Kernel("a", "forward", "mm", "linear", 600, 20), Kernel("b", "", "x", "add", 0, 10))
    assert Workload("fp32", 1, kernels).intensity == 20.0
