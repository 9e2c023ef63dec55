"""The two moments of the ledger are those of a real step, and so is the batch that fits."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeCopyMode, FakeTensorMode

from ampcourse.memory.activations import SavedTensors
from ampcourse.memory.ledger import RECIPES, STATE, ledger
from ampcourse.memory.moments import WORKLOADS, Workload, largest_batch, moments, peak
from ampcourse.memory.peak import predict

SMALL = Workload("small", 1000, fp32=600, half=320)


def perceptron(layers: int, width: int) -> nn.Sequential:
    parts = [part for _ in range(layers) for part in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*parts)


def saved_by(model: nn.Module, shape: tuple[int, ...], autocast: bool) -> int:
    """Return the bytes of activations that a model without numbers saves for its backward pass."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with FakeCopyMode(mode):
        ghost = copy.deepcopy(model)
    region = torch.autocast("cpu", torch.bfloat16, enabled=autocast)
    with mode, SavedTensors(ghost) as saved, region:
        output = ghost(torch.empty(shape))
    assert output.grad_fn is not None
    return sum(saved.by_module("activation").values())


@pytest.mark.parametrize("autocast", [False, True], ids=["fp32", "autocast"])
def test_resnet50s_bytes_are_those_of_one_more_image(autocast: bool) -> None:
    from torchvision.models import resnet50

    model, found = resnet50(), WORKLOADS["resnet50"]
    one, two = (saved_by(model, (n, 3, 224, 224), autocast) for n in (1, 2))
    assert two - one == (found.half if autocast else found.fp32)
    assert sum(p.numel() for p in model.parameters()) == found.parameters


@pytest.mark.parametrize("autocast", [False, True], ids=["fp32", "autocast"])
def test_the_perceptrons_bytes_are_those_of_its_layers(autocast: bool) -> None:
    found = WORKLOADS["perceptron"]
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with mode:
        model = perceptron(8, 4096)
        region = torch.autocast("cpu", torch.bfloat16, enabled=autocast)
        with SavedTensors(model) as saved, region:
            output = model(torch.empty(3, 4096))
    assert output.grad_fn is not None
    activations = sum(saved.by_module("activation").values())
    assert activations == 3 * (found.half if autocast else found.fp32)
    assert sum(p.numel() for p in model.parameters()) == found.parameters


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("optimizer", STATE)
def test_gradients_are_missing_at_one_moment_and_passing_things_at_the_other(
    optimizer: str, recipe: str
) -> None:
    found = ledger(optimizer, recipe)
    end, step = moments(found, SMALL, 2)
    each = 320 if recipe != "fp32" else 600
    assert end.total == found.forward * 1000 + 2 * each
    assert step.total == found.kept * 1000
    assert not {"gradients", "master gradients"} & set(end.bytes)
    assert not {"activations", "weight casts"} & set(step.bytes)


@pytest.mark.parametrize(
    ("recipe", "batch"), [("fp32", 1), ("autocast", 1), ("fp32", 4096), ("autocast", 4096)]
)
def test_the_larger_moment_is_near_the_rehearsed_peak_of_a_perceptron(
    recipe: str, batch: int
) -> None:
    model = perceptron(4, 256)
    each = 5 * 256 * 4
    load = Workload("perceptron", sum(p.numel() for p in model.parameters()), each, each // 2)
    told = peak(ledger("momentum", recipe), load, batch).total
    found = predict(model, "momentum", recipe, (batch, 256)).peak
    # Above lie what one layer's backward pass works in: four results, one weight in 16 bits.
    assert told <= found <= told + 4 * batch * 256 * 4 + 2 * 256 * 256 + 1024


@pytest.mark.parametrize("limit", [0, 7_999, 16_000, 16_001, 20_000, 10**6])
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_largest_batch_fits_and_one_more_does_not(recipe: str, limit: int) -> None:
    found = ledger("adam", recipe)
    batch = largest_batch(found, SMALL, limit)
    if batch:
        assert peak(found, SMALL, batch).total <= limit
    assert peak(found, SMALL, batch + 1).total > limit


def test_a_batch_below_1_and_samples_of_no_bytes_are_refused() -> None:
    with pytest.raises(ValueError, match="batch=0"):
        moments(ledger(), SMALL, 0)
    with pytest.raises(ValueError, match="any batch would fit"):
        largest_batch(ledger(), Workload("none", 10, 0, 0), 100)
    with pytest.raises(ValueError, match="half=-1"):
        Workload("wrong", 1, 1, -1)
