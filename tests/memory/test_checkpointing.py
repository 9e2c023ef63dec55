"""Checkpointing changes what is held and computed twice, and not one bit of a gradient."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.utils import checkpoint as torchs

from ampcourse.memory.activations import SavedTensors
from ampcourse.memory.checkpointing import Checkpointed, best_segments, bounds, chain, checkpoint
from ampcourse.memory.segments import Recording


def perceptron(blocks: int = 5) -> nn.Sequential:
    torch.manual_seed(0)
    parts: list[nn.Module] = []
    for _ in range(blocks):
        parts += [nn.Linear(16, 16), nn.ReLU(), nn.Dropout(0.3)]
    return nn.Sequential(*parts, nn.Linear(16, 4))


def convolutional() -> nn.Sequential:
    torch.manual_seed(0)
    parts: list[nn.Module] = []
    for channels in (3, 6, 6, 6):
        convolution = nn.Conv2d(channels, 6, 3, padding=1)
        parts.append(nn.Sequential(convolution, nn.BatchNorm2d(6), nn.ReLU(inplace=True)))
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 4))


CHAINS = {"perceptron": (perceptron, (32, 16)), "convolutional": (convolutional, (4, 3, 8, 8))}


def gradients(model: nn.Module, x: torch.Tensor, autocast: bool = False) -> list[torch.Tensor]:
    torch.manual_seed(3)
    model.zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        loss = model(x).float().square().sum()
    loss.backward()
    return [p.grad for p in model.parameters() if p.grad is not None]


def same(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    assert len(a) == len(b) > 0
    pairs = zip(a, b, strict=True)
    return all(torch.equal(x.view(torch.int32), y.view(torch.int32)) for x, y in pairs)


@pytest.mark.parametrize("autocast", [False, True], ids=["fp32", "autocast"])
@pytest.mark.parametrize("segments", [1, 2, 3, 7])
@pytest.mark.parametrize("name", CHAINS)
def test_gradients_are_the_same_bit_for_bit(name: str, segments: int, autocast: bool) -> None:
    make, shape = CHAINS[name]
    x = torch.randn(shape)
    plain = gradients(make(), x, autocast)
    assert same(gradients(Checkpointed(make(), segments), x, autocast), plain)


@pytest.mark.parametrize("autocast", [False, True], ids=["fp32", "autocast"])
def test_gradients_are_those_of_torchs_checkpoint(autocast: bool) -> None:
    model, x = perceptron(), torch.randn(32, 16)

    class Torchs(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = model

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torchs.checkpoint_sequential(self.layers, 4, x, use_reentrant=False)

    theirs = [g.clone() for g in gradients(Torchs(), x, autocast)]
    assert same(gradients(Checkpointed(model, 4), x, autocast), theirs)


def test_without_the_random_state_dropout_makes_other_gradients() -> None:
    x = torch.randn(32, 16)
    plain = gradients(perceptron(), x)
    assert not same(gradients(Checkpointed(perceptron(), 4, keep_rng=False), x), plain)


def test_the_random_state_after_a_step_is_that_without_checkpointing() -> None:
    x, states = torch.randn(32, 16), []
    for segments in (1, 4):
        gradients(Checkpointed(perceptron(), segments), x)
        states.append(torch.get_rng_state())
    assert torch.equal(*states)


def test_layers_before_which_nothing_needs_a_gradient_get_theirs() -> None:
    layer = nn.Linear(3, 2)
    checkpoint(layer, torch.ones(1, 3)).sum().backward()
    assert layer.weight.grad is not None


def test_the_input_gets_its_gradient() -> None:
    x = torch.ones(1, 3, requires_grad=True)
    layer = nn.Linear(3, 2)
    checkpoint(layer, x).sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad[0], layer.weight.detach().sum(0))


def test_running_statistics_move_twice() -> None:
    plain = nn.BatchNorm1d(3)
    twice = copy.deepcopy(plain)
    x = torch.randn(8, 3)
    plain(x).sum().backward()
    checkpoint(twice, x).sum().backward()
    assert (plain.num_batches_tracked, twice.num_batches_tracked) == (1, 2)


@pytest.mark.parametrize("autocast", [False, True], ids=["fp32", "autocast"])
@pytest.mark.parametrize("name", CHAINS)
def test_predicted_bytes_and_recomputation_are_those_measured(name: str, autocast: bool) -> None:
    make, shape = CHAINS[name]
    x = torch.randn(shape)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        recording = Recording(make(), x)
    for plan in recording.plans():
        model = Checkpointed(make(), plan.segments)
        with SavedTensors(model) as saved:
            with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                output = model(x)
            kept = saved.live
            output.backward(torch.ones_like(output))
        again = sum(saved.calls[layer] - 1 for layer in recording.names)
        assert (plan.kept, plan.peak, plan.recomputed) == (kept, saved.peak, again)
        assert saved.live == 0


def test_the_root_of_the_layers_is_best_for_equal_layers() -> None:
    torch.manual_seed(0)
    layers = nn.Sequential(*(nn.Sequential(nn.Linear(8, 8), nn.ReLU()) for _ in range(25)))
    plans = Recording(layers, torch.randn(64, 8)).plans()
    best = plans[best_segments(25) - 1]
    assert best.segments == 5
    assert best.peak == min(plan.peak for plan in plans)
    assert best.peak * 2 < plans[0].peak


def test_one_segment_recomputes_nothing_and_one_per_layer_all_but_the_last() -> None:
    plans = Recording(perceptron(), torch.randn(2, 16)).plans()
    assert plans[0].extra_forward == 0.0
    assert plans[-1].extra_forward == 15 / 16


def test_bytes_by_layer_add_up_to_the_plan_without_checkpointing() -> None:
    recording = Recording(convolutional(), torch.randn(2, 3, 8, 8))
    assert sum(recording.bytes_by_layer) == recording.plan(1).peak


def test_a_segment_that_changes_its_input_in_place_is_refused() -> None:
    layers = nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True), nn.Linear(3, 2))
    with pytest.raises(ValueError, match="inplace=False"):
        Checkpointed(layers, 3)(torch.randn(4, 3))


@pytest.mark.parametrize("layers", [1, 2, 3, 7, 50])
def test_segments_cover_the_layers_once_and_differ_by_one_at_most(layers: int) -> None:
    for segments in range(1, layers + 1):
        parts = bounds(layers, segments)
        assert [i for start, end in parts for i in range(start, end)] == list(range(layers))
        sizes = {end - start for start, end in parts}
        assert max(sizes) - min(sizes) <= 1


def test_the_best_number_of_segments_is_that_of_trying_all() -> None:
    for layers in range(1, 200):
        costs = {k: k + layers / k for k in range(1, layers + 1)}
        assert costs[best_segments(layers)] == min(costs.values())


def test_a_resnet_as_a_chain_computes_the_same_and_shares_its_weights() -> None:
    from torchvision.models import resnet18

    torch.manual_seed(0)
    model = resnet18(num_classes=4).eval()
    x = torch.randn(2, 3, 32, 32)
    layers = chain(model)
    assert len(layers) == 2 + 8 + 3
    assert torch.equal(layers(x), model(x))
    assert {id(p) for p in layers.parameters()} == {id(p) for p in model.parameters()}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds(4, 0), "segments=0 must be between 1 and the 4 layers"),
        (lambda: bounds(4, 5), "segments=5"),
        (lambda: best_segments(0), "0 layers"),
        (lambda: chain(nn.Linear(2, 2)), "Linear is no chain"),
        (lambda: Recording(nn.Sequential(), torch.ones(1)), "without layers"),
    ],
)
def test_what_cannot_be_divided_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_dropout_on_the_gpu_drops_the_same_elements_twice() -> None:
    x = torch.randn(32, 16, device="cuda")
    plain = gradients(perceptron().cuda(), x)
    assert same(gradients(Checkpointed(perceptron().cuda(), 4), x), plain)


def test_a_layer_that_occurs_twice_runs_twice() -> None:
    torch.manual_seed(0)
    one = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    tied, x = nn.Sequential(*[one] * 6), torch.randn(3, 4)
    assert torch.equal(Checkpointed(tied, 3)(x), tied(x))
    assert not torch.equal(tied(x), one(x))


def test_a_recording_refuses_a_layer_that_occurs_twice() -> None:
    one = nn.Linear(4, 4)
    with pytest.raises(ValueError, match="layer '1' is layer '0' once more"):
        Recording(nn.Sequential(one, one), torch.randn(3, 4))
