"""Master weights take the steps of FP32 training bit for bit; the model holds them rounded."""

from __future__ import annotations

import copy
import doctest
import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.func import functional_call

from ampcourse.amp import master_weights
from ampcourse.amp.grad_scaler import GradScaler
from ampcourse.amp.master_weights import MasterWeights
from ampcourse.amp.static_scaler import StaticScaler

Make = Callable[[Any], torch.optim.Optimizer]

low_precision = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)


def test_docstring_examples_hold() -> None:
    result = doctest.testmod(master_weights)
    assert result.attempted > 0
    assert result.failed == 0


def random_gradients(params: list[torch.Tensor], seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(p.shape, generator=generator).to(p.dtype) for p in params]


def twins(
    dtype: torch.dtype, shapes: tuple[tuple[int, ...], ...] = ((4, 3), (5,), (2, 2))
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return 16-bit parameters, and FP32 parameters with the same values."""
    generator = torch.Generator().manual_seed(1)
    params = [nn.Parameter(torch.randn(shape, generator=generator).to(dtype)) for shape in shapes]
    return list(params), [nn.Parameter(param.detach().float()) for param in params]


def assert_follows(
    optimizer: MasterWeights, params: list[torch.Tensor], twin: list[torch.Tensor]
) -> None:
    for param, master, expected in zip(params, optimizer.parameters(), twin, strict=True):
        assert master.dtype == torch.float32
        assert torch.equal(master, expected)
        assert torch.equal(param, expected.to(param.dtype))


OPTIMIZERS: dict[str, Make] = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "SGD momentum decay": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "SGD nesterov foreach": lambda p: torch.optim.SGD(
        p, lr=0.1, momentum=0.9, nesterov=True, foreach=True
    ),
    "SGD fused": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, fused=True),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "AdamW foreach amsgrad": lambda p: torch.optim.AdamW(p, lr=0.01, foreach=True, amsgrad=True),
    "AdamW fused": lambda p: torch.optim.AdamW(p, lr=0.01, fused=True),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.01, initial_accumulator_value=0.125),
    "Adadelta": lambda p: torch.optim.Adadelta(p),
    "Adafactor": lambda p: torch.optim.Adafactor(p),
    "Adamax": lambda p: torch.optim.Adamax(p),
    "ASGD": lambda p: torch.optim.ASGD(p),
    "NAdam": lambda p: torch.optim.NAdam(p),
    "RAdam": lambda p: torch.optim.RAdam(p),
    "RMSprop": lambda p: torch.optim.RMSprop(p, momentum=0.5, centered=True),
    "Rprop": lambda p: torch.optim.Rprop(p),
}


@low_precision
@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS.keys())
def test_around_any_optimizer_masters_take_its_fp32_steps(make: Make, dtype: torch.dtype) -> None:
    params, twin = twins(dtype)
    optimizer, reference = MasterWeights(make(params)), make(twin)
    for step in range(20):
        for param, other, gradient in zip(
            params, twin, random_gradients(params, step), strict=True
        ):
            param.grad, other.grad = gradient, gradient.float()
        optimizer.step()
        reference.step()
        assert_follows(optimizer, params, twin)


def test_groups_keep_their_options_and_schedulers_work_on_the_wrapped_optimizer() -> None:
    def groups(p: list[torch.Tensor]) -> Any:
        return [
            {"params": p[:1], "weight_decay": 0.1},
            {"params": p[1:], "lr": 0.5, "momentum": 0.0},
        ]

    params, twin = twins(torch.float16)
    inner = torch.optim.SGD(groups(params), lr=0.1, momentum=0.9)
    before = torch.optim.lr_scheduler.StepLR(inner, 3, gamma=0.5)
    optimizer = MasterWeights(inner)
    after = torch.optim.lr_scheduler.ExponentialLR(inner, 0.9)
    reference = torch.optim.SGD(groups(twin), lr=0.1, momentum=0.9)
    schedulers = [
        before,
        after,
        torch.optim.lr_scheduler.StepLR(reference, 3, gamma=0.5),
        torch.optim.lr_scheduler.ExponentialLR(reference, 0.9),
    ]
    for step in range(10):
        for param, other, gradient in zip(
            params, twin, random_gradients(params, step), strict=True
        ):
            param.grad, other.grad = gradient, gradient.float()
        optimizer.step()
        reference.step()
        for scheduler in schedulers:
            scheduler.step()
        assert_follows(optimizer, params, twin)
    assert optimizer.param_groups is inner.param_groups


# Following FP32 training.


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))


def batches(count: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(2)
    return [
        (torch.randn(8, 6, generator=generator), torch.randint(3, (8,), generator=generator))
        for _ in range(count)
    ]


def sgd(params: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(params, lr=0.1, momentum=0.9, weight_decay=1e-3)


@low_precision
def test_only_the_forward_pass_rounds(dtype: torch.dtype) -> None:
    """The same training as one with FP32 weights that are rounded as they enter the forward pass.

    There the parameters are FP32, autograd differentiates through the rounding, and plain torch
    steps: nothing but the rounding of the forward and backward pass is left to differ from FP32.
    """
    model, reference = network().to(dtype), network()
    with torch.no_grad():  # both start from what 16 bits can hold
        for param, start in zip(reference.parameters(), model.parameters(), strict=True):
            param.copy_(start)
    optimizer, plain = MasterWeights(sgd(model.parameters())), sgd(reference.parameters())
    scaler, other_scaler = GradScaler("cpu", 1024.0), torch.amp.GradScaler("cpu", 1024.0)
    for x, y in batches(50):
        optimizer.zero_grad()
        scaler.scale(nn.functional.cross_entropy(model(x.to(dtype)).float(), y)).backward()
        scaler.step(optimizer)
        scaler.update()

        plain.zero_grad()
        rounded = {name: param.to(dtype) for name, param in reference.named_parameters()}
        output = functional_call(reference, rounded, x.to(dtype))
        other_scaler.scale(nn.functional.cross_entropy(output.float(), y)).backward()
        other_scaler.step(plain)
        other_scaler.update()

        assert_follows(optimizer, list(model.parameters()), list(reference.parameters()))


def test_where_the_forward_pass_rounds_nothing_it_is_fp32_training_bit_for_bit() -> None:
    # A linear loss has a gradient that does not depend on the weights; 3/1024 fits FP16.
    start = torch.tensor([1.0, -0.5, 2.0**-10, 100.0])
    slope = torch.tensor([1.0, -3.0, 3 / 1024, 0.125])
    weight, exact = nn.Parameter(start.half()), nn.Parameter(start.clone())
    optimizer = MasterWeights(torch.optim.Adam([weight], lr=1e-4))
    plain = torch.optim.Adam([exact], lr=1e-4)
    for _ in range(200):
        for w, each in ((weight, optimizer), (exact, plain)):
            each.zero_grad()
            (w * slope.to(w.dtype)).sum().backward()
            each.step()
        assert_follows(optimizer, [weight], [exact])


@low_precision
def test_without_master_weights_updates_of_2_to_the_minus_12_of_the_weight_are_lost(
    dtype: torch.dtype,
) -> None:
    bare, weight = (nn.Parameter(torch.ones(1, dtype=dtype)) for _ in range(2))
    alone = torch.optim.SGD([bare], lr=2.0**-12)
    optimizer = MasterWeights(torch.optim.SGD([weight], lr=2.0**-12))
    for step in range(1, 1025):
        bare.grad, weight.grad = -torch.ones_like(bare), -torch.ones_like(weight)
        alone.step()
        optimizer.step()
        assert bare.item() == 1.0
        (master,) = optimizer.parameters()
        assert master.item() == 1 + step * 2.0**-12
    assert weight.item() == 1.25


def test_momentum_and_weight_decay_work_on_the_master() -> None:
    # Both would be lost in FP16: the decay is 2^-14 of the weight, the momentum has 24 bits.
    weight = nn.Parameter(torch.full((1,), 3.0, dtype=torch.float16))
    inner = torch.optim.SGD([weight], lr=1.0, momentum=0.9, weight_decay=2.0**-14)
    optimizer = MasterWeights(inner)
    twin = torch.full((1,), 3.0, requires_grad=True)
    plain = torch.optim.SGD([twin], lr=1.0, momentum=0.9, weight_decay=2.0**-14)
    for _ in range(30):
        weight.grad, twin.grad = torch.zeros_like(weight), torch.zeros_like(twin)
        optimizer.step()
        plain.step()
    assert_follows(optimizer, [weight], [twin])
    assert all(v["momentum_buffer"].dtype == torch.float32 for v in inner.state.values())


# Gradients.


def test_gradients_are_unscaled_in_fp32() -> None:
    # 2^-24 times 3 / 2^16 is far below FP16, and a third would have 11 bits there.
    weight = nn.Parameter(torch.ones(1, dtype=torch.float16))
    optimizer = MasterWeights(torch.optim.SGD([weight], lr=1.0))
    scaler = GradScaler("cpu", init_scale=3.0 * 2**16)
    scaler.scale(torch.ones(()))
    weight.grad = torch.full((1,), 2.0**-24, dtype=torch.float16)
    scaler.unscale_(optimizer)
    (master,) = optimizer.parameters()
    inverse = torch.tensor(3.0 * 2**16).double().reciprocal().float()
    assert torch.equal(master.grad, torch.tensor([2.0**-24]) * inverse)
    assert weight.grad is None


def test_clipping_between_unscale_and_step_clips_what_is_stepped() -> None:
    params, _ = twins(torch.float16, ((4,),))
    optimizer = MasterWeights(torch.optim.SGD(params, lr=1.0))
    before = [master.detach().clone() for master in optimizer.parameters()]
    scaler = GradScaler("cpu", init_scale=8.0)
    scaler.scale(sum((param * 3).sum() for param in params)).backward()
    scaler.unscale_(optimizer)
    total = torch.nn.utils.clip_grad_norm_(optimizer.parameters(), 0.5)
    assert total == 6.0
    clipped = [master.grad.clone() for master in optimizer.parameters()]
    scaler.step(optimizer)
    for master, old, gradient in zip(optimizer.parameters(), before, clipped, strict=True):
        assert torch.equal(master, old - gradient)


@pytest.mark.parametrize("zero", ["optimizer", "model"])
def test_after_a_skipped_step_training_goes_on_whichever_zero_grad_is_called(zero: str) -> None:
    model = network().half()
    optimizer = MasterWeights(sgd(model.parameters()))
    scaler = GradScaler("cpu", init_scale=2.0**30)
    start = [param.detach().clone() for param in model.parameters()]
    scales = []
    for x, y in batches(40):
        (optimizer if zero == "optimizer" else model).zero_grad()
        scaler.scale(nn.functional.cross_entropy(model(x.half()).float(), y)).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        if len(scales) == 1:
            assert all(map(torch.equal, model.parameters(), start))
    assert 2.0**10 < scales[-1] == scales[-10] < 2.0**30
    assert not any(map(torch.equal, model.parameters(), start))


def test_torchs_scaler_works_too_once_gradients_are_collected() -> None:
    params, twin = twins(torch.float16)
    optimizer, reference = MasterWeights(sgd(params)), sgd(twin)
    scalers = torch.amp.GradScaler("cpu", 64.0), torch.amp.GradScaler("cpu", 64.0)
    for scaler in scalers:
        scaler.scale(torch.ones(()))
    for step in range(6):
        gradients = random_gradients(params, step)
        if step == 2:
            gradients[1][3] = float("inf")
        for param, other, gradient in zip(params, twin, gradients, strict=True):
            param.grad, other.grad = gradient, gradient.float()
        optimizer.collect_gradients()
        for scaler, each in zip(scalers, (optimizer, reference), strict=True):
            scaler.step(each)
            scaler.update()
        assert_follows(optimizer, params, twin)
    assert scalers[0].state_dict() == scalers[1].state_dict()
    assert scalers[0].get_scale() == 32.0


def test_a_static_scaler_works_too() -> None:
    weight = nn.Parameter(torch.ones(1, dtype=torch.float16))
    optimizer = MasterWeights(torch.optim.SGD([weight], lr=1.0))
    scaler = StaticScaler(2.0**12)
    scaler.scale((weight * 2.0**-20).sum()).backward()
    scaler.step(optimizer)
    (master,) = optimizer.parameters()
    assert 1 - master.item() == 2.0**-20


def test_frozen_parameters_and_those_without_gradient_stay() -> None:
    params, twin = twins(torch.float16)
    for frozen in (params[0], twin[0]):
        frozen.requires_grad_(False)
    optimizer, reference = MasterWeights(sgd(params)), sgd(twin)
    for step in range(6):
        optimizer.zero_grad()
        reference.zero_grad()
        if step == 3:  # unfreeze in mid-training
            params[0].requires_grad_(True)
        for index, gradient in enumerate(random_gradients(params, step)):
            if index != step % 3 and params[index].requires_grad:
                params[index].grad, twin[index].grad = gradient, gradient.float()
        optimizer.step()
        reference.step()
        assert_follows(optimizer, params, twin)


def test_without_zero_grad_a_parameter_that_was_not_used_again_stays() -> None:
    # As after model.zero_grad(), which does not know the masters.
    params, twin = twins(torch.float16)
    optimizer, reference = MasterWeights(sgd(params)), sgd(twin)
    for step in range(4):
        reference.zero_grad()
        for index, gradient in enumerate(random_gradients(params, step)):
            if index != step % 3:
                params[index].grad, twin[index].grad = gradient, gradient.float()
        optimizer.step()
        reference.step()
        assert_follows(optimizer, params, twin)


def test_parameters_in_fp32_stay_themselves() -> None:
    half, single = nn.Parameter(torch.ones(2).half()), nn.Parameter(torch.ones(2))
    inner = torch.optim.SGD([single, half], lr=0.5)
    optimizer = MasterWeights(inner)
    assert inner.param_groups[0]["params"][0] is single
    (half.float() * single).sum().backward()
    optimizer.step()
    assert (half.tolist(), single.tolist()) == ([0.5, 0.5], [0.5, 0.5])
    (half.float() * single).sum().backward()
    optimizer.zero_grad()
    assert half.grad is None
    assert single.grad is None


def test_parameters_may_be_added_later() -> None:
    params, twin = twins(torch.float16)
    optimizer, reference = MasterWeights(sgd(params[:2])), sgd(twin[:2])
    for step in range(6):
        if step == 3:
            optimizer.add_param_group({"params": params[2:], "lr": 0.5})
            reference.add_param_group({"params": twin[2:], "lr": 0.5})
        for param, other, gradient in zip(
            params, twin, random_gradients(params, step), strict=True
        ):
            param.grad, other.grad = gradient, gradient.float()
        optimizer.step()
        reference.step()
    assert_follows(optimizer, params, twin)


def test_sparse_gradients_stay_sparse() -> None:
    table = nn.Embedding(5, 2, sparse=True)
    twin = copy.deepcopy(table.half()).float()
    optimizer = MasterWeights(torch.optim.SparseAdam(table.parameters()))
    reference = torch.optim.SparseAdam(twin.parameters())
    scaler = GradScaler("cpu", init_scale=4.0)
    for step in range(5):
        index = torch.tensor([step % 5, 2, 2])
        optimizer.zero_grad()
        reference.zero_grad()
        scaler.scale(table(index).sum()).backward()
        twin(index).sum().backward()
        scaler.step(optimizer)
        scaler.update()
        reference.step()
        assert_follows(optimizer, [table.weight], [twin.weight])


def test_a_closure_is_evaluated_at_the_masters_rounded_values() -> None:
    target = torch.tensor([0.3, -1.7, 2.2])
    weight, twin = nn.Parameter(torch.zeros(3).half()), nn.Parameter(torch.zeros(3))
    optimizer = MasterWeights(torch.optim.LBFGS([weight], lr=0.7, max_iter=4))
    reference = torch.optim.LBFGS([twin], lr=0.7, max_iter=4)
    seen: list[torch.Tensor] = []

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        seen.append(weight.detach().clone())
        loss = (weight.float() - target).square().sum()
        loss.backward()
        return loss

    def reference_closure() -> torch.Tensor:
        reference.zero_grad()
        rounded = twin.half()
        loss = (rounded.float() - target).square().sum()
        loss.backward()
        return loss

    for _ in range(3):
        assert optimizer.step(closure) == reference.step(reference_closure)
        assert_follows(optimizer, [weight], [twin])
    assert len({tuple(w.tolist()) for w in seen}) > 4


def test_an_optimizer_that_has_trained_is_taken_over_with_its_state() -> None:
    params, _ = twins(torch.float16)
    inner = torch.optim.Adam(params, lr=0.01)
    for param, gradient in zip(params, random_gradients(params, 0), strict=True):
        param.grad = gradient
    inner.step()
    twin = [nn.Parameter(param.detach().float()) for param in params]
    reference = torch.optim.Adam(twin, lr=0.01)
    reference.load_state_dict(copy.deepcopy(inner.state_dict()))
    optimizer = MasterWeights(inner)
    for param, other, gradient in zip(params, twin, random_gradients(params, 1), strict=True):
        param.grad, other.grad = gradient, gradient.float()
    optimizer.step()
    reference.step()
    assert_follows(optimizer, params, twin)


# Saving.


def train(model: nn.Module, optimizer: MasterWeights, part: slice) -> None:
    for x, y in batches(20)[part]:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x.bfloat16()).float(), y).backward()
        optimizer.step()


def test_a_resumed_training_is_the_uninterrupted_one_bit_for_bit() -> None:
    whole = network().bfloat16()
    optimizer = MasterWeights(torch.optim.AdamW(whole.parameters(), lr=1e-3))
    train(whole, optimizer, slice(20))

    first = network().bfloat16()
    saved = MasterWeights(torch.optim.AdamW(first.parameters(), lr=1e-3))
    train(first, saved, slice(10))
    file = io.BytesIO()
    torch.save(saved.state_dict(), file)
    file.seek(0)
    second = network().bfloat16()  # with its first weights: the masters bring the trained ones
    resumed = MasterWeights(torch.optim.AdamW(second.parameters(), lr=1e-3))
    resumed.load_state_dict(torch.load(file))
    assert all(map(torch.equal, second.parameters(), first.parameters()))
    train(second, resumed, slice(10, 20))
    assert all(map(torch.equal, second.parameters(), whole.parameters()))
    assert all(map(torch.equal, resumed.parameters(), optimizer.parameters()))


def test_a_state_that_does_not_fit_is_refused_and_changes_nothing() -> None:
    params, _ = twins(torch.float16)
    optimizer = MasterWeights(sgd(params))
    before = [master.detach().clone() for master in optimizer.parameters()]
    other = MasterWeights(sgd(twins(torch.float16, ((4, 3), (5,), (2, 3)))[0]))
    with pytest.raises(ValueError, match=r"shapes \[\(4, 3\), \(5,\), \(2, 3\)\]"):
        optimizer.load_state_dict(other.state_dict())
    with pytest.raises(ValueError, match="this one has state, param_groups"):
        optimizer.load_state_dict(sgd(params).state_dict())
    assert all(map(torch.equal, optimizer.parameters(), before))


def test_a_frozen_parameter_that_the_model_changes_is_left_alone() -> None:
    frozen, weight = (nn.Parameter(torch.ones(1).half()) for _ in range(2))
    frozen.requires_grad_(False)
    optimizer = MasterWeights(torch.optim.SGD([frozen, weight], lr=1.0))
    frozen.fill_(5.0)
    weight.grad = torch.ones(1).half()
    optimizer.step()
    assert (frozen.item(), weight.item()) == (5.0, 0.0)


def test_a_model_that_was_changed_is_followed_after_copy_from_model() -> None:
    weight = nn.Parameter(torch.ones(1).half())
    optimizer = MasterWeights(torch.optim.SGD([weight], lr=1.0))
    with torch.no_grad():
        weight.fill_(5.0)
    optimizer.copy_from_model()
    weight.grad = torch.ones(1).half()
    optimizer.step()
    assert weight.item() == 4.0
