"""The benchmark's networks are torchvision's, from one seed, for any image."""

from __future__ import annotations

import pytest
import torch

from ampcourse.benchmark.models import MODELS, build, checkpointed, sgd

torchvision = pytest.importorskip("torchvision", reason="needs torchvision")


def test_resnet50_has_torchvisions_weights_but_for_the_first_convolution_and_the_last_layer() -> (
    None
):
    ours = {name: tuple(p.shape) for name, p in build().named_parameters()}
    theirs = {
        name: tuple(p.shape)
        for name, p in torchvision.models.resnet50(num_classes=10).named_parameters()
    }
    assert theirs.pop("conv1.weight") == (64, 3, 7, 7)
    assert ours.pop("conv1.weight") == (64, 1, 7, 7)
    assert ours == theirs
    assert MODELS["resnet18"][1] == (2, 2, 2, 2)


def test_a_seed_gives_the_same_weights_and_leaves_the_global_state_alone() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first, second, other = (build("tiny", seed=seed) for seed in (1, 1, 2))
    assert torch.equal(before, torch.get_rng_state())
    pairs = list(zip(first.parameters(), second.parameters(), strict=True))
    assert all(torch.equal(a, b) for a, b in pairs)
    assert any(
        not torch.equal(a, b) for a, b in zip(first.parameters(), other.parameters(), strict=True)
    )


@pytest.mark.parametrize("name", ["tiny", "resnet10"])
def test_the_3x3_stem_keeps_the_size_and_the_stock_stem_leaves_a_quarter_of_it(name: str) -> None:
    images = torch.zeros(1, 3, 32, 32)
    for stem, side in (("3x3", 32), ("stock", 8)):
        model = build(name, 3, 7, stem).eval()
        assert model(images).shape == (1, 7)
        front = torch.nn.Sequential(model.conv1, model.bn1, model.relu, model.maxpool)
        assert front(images).shape[-2:] == (side, side)


@pytest.mark.parametrize("name", ["tiny", "resnet10"])
def test_checkpointing_gives_the_same_loss_and_gradients_bit_for_bit(name: str) -> None:
    torch.manual_seed(0)
    images = torch.rand(2, 1, 16, 16)
    plain, other = build(name, stem="3x3"), build(name, stem="3x3")
    again = checkpointed(other)
    for model in (plain, again):
        torch.nn.functional.cross_entropy(model(images), torch.tensor([1, 2])).backward()
    for a, b in zip(plain.parameters(), other.parameters(), strict=True):
        assert a.grad is not None
        assert b.grad is not None
        assert torch.equal(a.grad, b.grad)
    assert len(list(again.parameters())) == len(list(plain.parameters()))


def test_checkpointing_runs_all_segments_but_the_last_a_second_time() -> None:
    model = build("tiny", stem="3x3")
    again = checkpointed(model, segments=3)
    calls = []
    for name in ("conv1", "layer1", "fc"):
        getattr(model, name).register_forward_hook(lambda *_, name=name: calls.append(name))
    again(torch.rand(2, 1, 16, 16)).sum().backward()
    assert calls.count("conv1") == 2
    assert calls.count("layer1") == 2
    assert calls.count("fc") == 1
    calls.clear()
    again.eval()(torch.rand(2, 1, 16, 16))
    assert calls.count("conv1") == 1


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="model 'resnet51' is unknown; choose from resnet50"):
        build("resnet51")
    with pytest.raises(ValueError, match="stem '5x5' is unknown; choose from stock, 3x3"):
        build(stem="5x5")
    with pytest.raises(ValueError, match="channels=0"):
        build(channels=0)


def test_sgd_has_momentum_and_decay() -> None:
    optimizer = sgd(0.3)(torch.nn.Linear(2, 2).parameters())
    [group] = optimizer.param_groups
    assert (group["lr"], group["momentum"], group["weight_decay"]) == (0.3, 0.9, 1e-4)
