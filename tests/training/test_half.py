"""The FP16 trainings of lesson 05 differ in the scale and the masters, and in nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import torch
from torch.nn import functional as F

from ampcourse.training.data import fashion_mnist
from ampcourse.training.half import (
    Arm,
    HalfTraining,
    deep_net,
    gradient_damage,
    small_images,
    zero_shares,
)

FP32 = Arm("FP32", dtype=torch.float32)
PLAIN = Arm("FP16", master=False)
MASTER = Arm("FP16, masters")
SCALED = Arm("FP16, scale, masters", scale=2.0**12)


@pytest.fixture(scope="module")
def data() -> tuple[torch.Tensor, torch.Tensor]:
    return small_images(fashion_mnist(use="subset"))


def weights(training: HalfTraining) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in training.model.parameters()])


def masters(training: HalfTraining) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in training.optimizer.parameters()])


def test_images_are_averaged_over_two_by_two_pixels(
    data: tuple[torch.Tensor, torch.Tensor],
) -> None:
    raw = fashion_mnist(use="subset").train_images[7, 4:6, 8:10].astype(float) / 255
    expected = torch.tensor((raw.mean() - 0.286) / 0.353, dtype=torch.float32)
    assert data[0].shape == (2000, 1, 14, 14)
    torch.testing.assert_close(data[0][7, 0, 2, 4], expected, rtol=2**-20, atol=0)


def test_the_net_has_as_many_linear_layers_as_asked() -> None:
    net = deep_net(5, width=8, inputs=12)
    shapes = [tuple(p.shape) for p in net.parameters() if p.ndim == 2]
    assert shapes == [(8, 12), (8, 8), (8, 8), (8, 8), (10, 8)]
    assert [type(layer).__name__ for layer in net][-2:] == ["ReLU", "Linear"]
    with pytest.raises(ValueError, match="depth=1 "):
        deep_net(1)


def test_arms_of_a_seed_start_from_the_same_weights_and_leave_the_random_state_alone(
    data: tuple[torch.Tensor, torch.Tensor],
) -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    fp32, fp16 = HalfTraining(FP32, *data, seed=3), HalfTraining(SCALED, *data, seed=3)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(weights(fp32).half(), weights(fp16))
    assert not torch.equal(weights(fp32), weights(HalfTraining(FP32, *data, seed=4)))


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Let torch add in the order that `half` has it add in."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("one_thread")
def test_fp32_training_is_what_torch_alone_does(data: tuple[torch.Tensor, torch.Tensor]) -> None:
    ours = HalfTraining(FP32, *data, seed=1).run(5, 1e-3)
    torch.manual_seed(1)
    model = deep_net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    generator = torch.Generator().manual_seed(1)
    for _ in range(5):
        chosen = torch.randint(0, 2000, (64,), generator=generator)
        optimizer.zero_grad()
        F.cross_entropy(model(data[0][chosen]), data[1][chosen]).backward()
        optimizer.step()
    assert torch.equal(weights(ours), torch.cat([p.detach().flatten() for p in model.parameters()]))


def test_without_masters_the_copy_remembers_no_more_than_the_weight(
    data: tuple[torch.Tensor, torch.Tensor],
) -> None:
    plain = HalfTraining(PLAIN, *data).run(3, 1e-3)
    kept = HalfTraining(MASTER, *data).run(3, 1e-3)
    assert torch.equal(masters(plain), weights(plain).float())
    assert torch.equal(masters(kept).half(), weights(kept))
    assert not torch.equal(masters(kept), weights(kept).float())


def test_the_unscaled_gradient_of_the_first_layer_is_gone_and_the_scaled_one_is_there(
    data: tuple[torch.Tensor, torch.Tensor],
) -> None:
    for seed in range(3):
        [zeros] = HalfTraining(MASTER, *data, seed=seed).run(1, 1e-3, look=1).zeros
        [scaled] = HalfTraining(SCALED, *data, seed=seed).run(1, 1e-3, look=1).zeros
        [fp32] = HalfTraining(FP32, *data, seed=seed).run(1, 1e-3, look=1).zeros
        assert len(zeros) == 18
        assert zeros[0] > 0.99
        assert scaled[0] < 0.05
        assert max(abs(a - b) for a, b in zip(scaled, fp32, strict=True)) < 0.05


def test_updates_that_change_no_weight_are_counted_and_zero_updates_are_not(
    data: tuple[torch.Tensor, torch.Tensor],
) -> None:
    tiny = HalfTraining(SCALED, *data).run(2, 2.0**-24, look=2)
    assert tiny.unmoved[0] > 0.99
    assert HalfTraining(SCALED, *data).run(1, 0.0, look=1).unmoved == [0.0]
    large = HalfTraining(SCALED, *data).run(1, 0.5, look=1)
    assert large.unmoved[0] < 0.01


def test_a_fork_goes_on_alone_with_the_same_batches(
    data: tuple[torch.Tensor, torch.Tensor],
) -> None:
    parent = HalfTraining(SCALED, *data).run(2, 1e-3)
    before = weights(parent)
    same, other = parent.fork(master=True), parent.fork(master=False)
    assert torch.equal(weights(other), before)
    assert torch.equal(masters(other), before.float())
    same.run(2, 1e-3)
    assert torch.equal(weights(parent), before)
    assert torch.equal(weights(same), weights(parent.run(2, 1e-3)))
    assert (len(same.losses), len(parent.losses)) == (2, 4)


def test_one_thread_trains_and_the_number_of_threads_is_back_afterwards(
    data: tuple[torch.Tensor, torch.Tensor],
) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    seen = []
    training = HalfTraining(FP32, *data)
    training.model[0].register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    training.run(1, 1e-3).loss()
    assert (seen, torch.get_num_threads()) == ([1, 1], 2)
    torch.set_num_threads(before)


def test_damage_counts_zeros_and_what_is_not_finite(
    data: tuple[torch.Tensor, torch.Tensor],
) -> None:
    torch.manual_seed(0)
    net = deep_net()
    images, labels = data[0][:64], data[1][:64]
    exact, lost = gradient_damage(net, images, labels, 1.0)
    assert lost == 0
    for p in net.parameters():
        p.grad = torch.ones_like(p)  # left behind by somebody else
    assert gradient_damage(net, images, labels, 1.0) == (exact, lost)
    half = net.half()
    damage = [gradient_damage(half, images.half(), labels, 2.0**k) for k in (0, 12, 24)]
    assert damage[0][0] > 0.8 > damage[1][0] > exact - 0.01
    assert [lost > 0 for _, lost in damage] == [False, False, True]
    assert all(p.grad is None for p in half.parameters())


def test_zero_shares_are_those_of_the_weights_in_order() -> None:
    net = deep_net(2, width=2, inputs=2)
    for p, gradient in zip(
        net.parameters(),
        (
            torch.tensor([[0.0, 1.0], [-0.0, 0.0]]),
            torch.zeros(2),
            torch.ones(10, 2),
            torch.ones(10),
        ),
        strict=True,
    ):
        p.grad = gradient
    assert zero_shares(net) == [0.75, 0.0]


def test_the_loss_over_all_images_is_that_of_the_model(
    data: tuple[torch.Tensor, torch.Tensor],
) -> None:
    training = HalfTraining(FP32, *data)
    assert math.isclose(training.loss(), math.log(10), rel_tol=0.02)
