"""Losses are scaled, gradients unscaled, steps skipped and scales moved as Apex did it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from ampcourse.amp import opt_levels as amp
from ampcourse.amp.opt_levels.loss_scaler import LossScaler

LEVELS = ("O0", "O1", "O2", "O3")


@pytest.fixture(autouse=True)
def no_level_is_left() -> Iterator[None]:
    """Take the patches off again."""
    yield
    amp.deactivate()


def one_weight(value: float = 1.0) -> nn.Linear:
    layer = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        layer.weight.fill_(value)
    return layer


def start(level: str, value: float = 1.0, **options: Any) -> tuple[nn.Linear, Any]:
    layer = one_weight(value)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    chosen: dict[str, Any] = {"verbosity": 0, "loss_scale": "dynamic"} | options
    layer, optimizer = amp.initialize(layer, optimizer, opt_level=level, **chosen)
    return layer, optimizer


def backward(layer: nn.Linear, optimizer: Any, gradient: float, **options: Any) -> None:
    """Run a backward pass that gives the weight this gradient, if its type has it."""
    loss = layer(torch.ones(1, 1)).float().sum() * gradient
    with amp.scale_loss(loss, optimizer, **options) as scaled:
        scaled.backward()


def master(optimizer: Any) -> torch.Tensor:
    (param,) = amp.master_params(optimizer)
    return param


def scale(loss_id: int = 0) -> float:
    return float(amp._amp_state.loss_scalers[loss_id].loss_scale())


# What the scale does ------------------------------------------------------------------------


def feed(scaler: LossScaler, overflow: bool) -> bool:
    """Hand a scaler one gradient, and return whether it skips."""
    scaler.clear_overflow_state()
    scaler.unscale([torch.tensor([float("inf") if overflow else 1.0])])
    return scaler.update_scale()


def replay(flags: list[bool], window: int, floor: float | None, ceiling: float) -> list[float]:
    """Return the scale after each pass, by a rule that looks back instead of counting.

    The scale doubles where the passes since it last moved or met an overflow fill the window.
    """
    trace, last = [2.0**16], 0
    for done, overflow in enumerate(flags, start=1):
        now = trace[-1]
        if overflow:
            now, last = (now / 2 if not floor else max(floor, now / 2)), done
        elif done - last == window:
            now, last = min(ceiling, now * 2), done
        trace.append(now)
    return trace[1:]


@given(
    st.lists(st.booleans(), max_size=60),
    st.integers(1, 6),
    st.sampled_from([None, 0.0, 1.0, 2.0**15, 3.0]),
    st.sampled_from([2.0**14, 2.0**16, 2.0**17, 2.0**24, 1e5]),
)
def test_the_scale_follows_apexs_rule(
    flags: list[bool], window: int, floor: float | None, ceiling: float
) -> None:
    scaler = LossScaler(
        "dynamic", scale_window=window, min_loss_scale=floor, max_loss_scale=ceiling
    )
    trace = []
    for overflow in flags:
        assert feed(scaler, overflow) == overflow
        trace.append(scaler.loss_scale())
    assert trace == replay(flags, window, floor, ceiling)


@given(st.lists(st.booleans(), max_size=40), st.integers(1, 5))
def test_below_the_ceiling_the_scale_is_torchs(flags: list[bool], window: int) -> None:
    scaler = LossScaler("dynamic", scale_window=window, max_loss_scale=2.0**100)
    torchs = torch.amp.GradScaler("cpu", growth_interval=window)
    weight = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.0)
    for overflow in flags:
        feed(scaler, overflow)
        weight.grad = torch.tensor([float("inf") if overflow else 1.0])
        torchs.scale(torch.ones(()))
        torchs.step(optimizer)
        torchs.update()
        assert scaler.loss_scale() == torchs.get_scale()


def test_the_constants_are_apexs() -> None:
    # apex/amp/scaler.py at b82c6bd7, LossScaler.__init__.
    scaler = LossScaler("dynamic")
    assert scaler.loss_scale() == 65536.0
    trace = []
    for _ in range(8 * 2000 + 1):
        scaler.clear_overflow_state()
        scaler.update_scale()
        trace.append(scaler.loss_scale())
    moves = [step for step, (a, b) in enumerate(pairwise(trace), start=2) if a != b]
    assert moves == [2000 * k for k in range(1, 9)]
    assert trace[-1] == 2.0**24
    for _ in range(2000):
        scaler.update_scale()
    assert scaler.loss_scale() == 2.0**24


def test_a_fixed_scale_never_moves_and_never_skips() -> None:
    scaler = LossScaler(128.0)
    for _ in range(3):
        assert feed(scaler, True) is False
        assert scaler.loss_scale() == 128.0


@pytest.mark.parametrize("bad", [float("inf"), -float("inf"), float("nan")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_every_element_counts_and_a_large_sum_does_not(bad: float, dtype: torch.dtype) -> None:
    gradient = torch.full((3, 70_000), torch.finfo(dtype).max, dtype=dtype)
    scaler = LossScaler("dynamic")
    scaler.unscale([gradient.clone()])
    assert scaler.update_scale() is False
    gradient[2, 69_999] = bad
    scaler.unscale([torch.ones(2), gradient])
    assert scaler.update_scale() is True


# What happens to gradients and steps --------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_gradients_are_scaled_inside_and_unscaled_after(level: str) -> None:
    layer, optimizer = start(level, loss_scale=1024.0)
    loss = layer(torch.ones(1, 1)).float().sum()
    with amp.scale_loss(loss, optimizer) as scaled:
        assert scaled == 1024.0
        scaled.backward()
        assert layer.weight.grad == 1024.0
    assert master(optimizer).grad == 1.0
    # Under O2 the model's own FP16 gradient stays scaled: handle.py at fab319f1 warns of it.
    assert layer.weight.grad == (1024.0 if level == "O2" else 1.0)


@pytest.mark.parametrize("level", LEVELS)
def test_an_overflow_skips_one_step_and_says_so(
    level: str, capsys: pytest.CaptureFixture[str]
) -> None:
    layer, optimizer = start(level, verbosity=1)
    capsys.readouterr()
    step = optimizer.step
    backward(layer, optimizer, float("inf"))
    optimizer.step()
    assert capsys.readouterr().out == (
        "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0\n"
    )
    assert layer.weight.item() == 1.0
    assert scale() == 32768.0
    assert optimizer.step == step
    optimizer.zero_grad()
    backward(layer, optimizer, 0.25)
    optimizer.step()
    assert capsys.readouterr().out == ""
    assert layer.weight.item() == 0.75


def test_an_fp16_gradient_that_overflows_by_scaling_skips_until_the_scale_fits() -> None:
    layer, optimizer = start("O2")
    scales = []
    for _ in range(4):
        optimizer.zero_grad()
        backward(layer, optimizer, 4.0)  # times 65536 and 32768 and 16384 it is inf in FP16
        scales.append(scale())
        optimizer.step()
    assert scales == [32768.0, 16384.0, 8192.0, 8192.0]
    assert layer.weight.item() == -3.0


def test_a_fixed_scale_steps_into_inf() -> None:
    layer, optimizer = start("O2", loss_scale=65536.0)
    backward(layer, optimizer, 4.0)
    optimizer.step()
    assert layer.weight.item() == -float("inf")


@pytest.mark.parametrize("level", ["O0", "O3"])
def test_a_scale_of_one_without_masters_is_as_if_amp_were_not_there(level: str) -> None:
    layer, optimizer = start(level, loss_scale=1.0)
    loss = layer(torch.ones(1, 1)).sum()
    with amp.scale_loss(loss, optimizer) as scaled:
        assert scaled is loss
        scaled.backward()
    assert amp.state_dict() == {"loss_scaler0": {"loss_scale": 1.0, "unskipped": 0}}


@pytest.mark.parametrize("level", LEVELS)
def test_gradients_of_several_passes_add_up_unscaled(level: str) -> None:
    layer, optimizer = start(level)
    optimizer.zero_grad()
    for gradient in (0.5, 0.125, 0.0625):
        backward(layer, optimizer, gradient)
    assert master(optimizer).grad == 0.6875
    optimizer.step()
    assert layer.weight.item() == 0.3125


def test_passes_under_different_scales_add_up_all_the_same() -> None:
    layer, optimizer = start("O1")
    backward(layer, optimizer, 0.5)
    amp._amp_state.loss_scalers[0]._loss_scale = 8.0
    backward(layer, optimizer, 0.25)
    assert master(optimizer).grad == 0.75


def test_masters_add_up_what_fp16_would_lose() -> None:
    layer, optimizer = start("O2", loss_scale=1.0)
    for gradient in (1.0, 2.0**-11, 2.0**-11):
        backward(layer, optimizer, gradient)
    assert master(optimizer).grad.item() == 1.0 + 2.0**-10
    layer, optimizer = start("O3", loss_scale=2.0)
    for gradient in (1.0, 2.0**-11, 2.0**-11):
        backward(layer, optimizer, gradient)
    assert layer.weight.grad.item() == 1.0


@pytest.mark.parametrize("level", LEVELS)
def test_an_overflow_in_one_of_several_passes_skips_the_step(level: str) -> None:
    for order in ([0.5, float("inf")], [float("inf"), 0.5]):
        layer, optimizer = start(level)
        for gradient in order:
            backward(layer, optimizer, gradient)
        optimizer.step()
        assert layer.weight.item() == 1.0
        assert scale() == 32768.0


@pytest.mark.parametrize("level", LEVELS)
def test_delayed_gradients_stay_scaled_and_are_unscaled_together(level: str) -> None:
    layer, optimizer = start(level)
    backward(layer, optimizer, 0.5, delay_unscale=True)
    assert layer.weight.grad == 32768.0
    backward(layer, optimizer, 0.25, delay_unscale=True)
    backward(layer, optimizer, 0.125)
    assert master(optimizer).grad == 0.875
    assert amp.state_dict()["loss_scaler0"]["unskipped"] == 1


@pytest.mark.parametrize("level", LEVELS)
def test_gradients_of_an_earlier_step_do_not_come_back_after_a_delayed_pass(level: str) -> None:
    layer, optimizer = start(level)
    for gradient in (0.5, 0.25):
        backward(layer, optimizer, gradient)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    backward(layer, optimizer, 0.125, delay_unscale=True)
    backward(layer, optimizer, 0.125)
    assert master(optimizer).grad == 0.25


@pytest.mark.parametrize("first", [0.5, float("inf")], ids=["stepped", "skipped"])
@pytest.mark.parametrize("level", LEVELS)
def test_the_models_own_zero_grad_is_enough(level: str, first: float) -> None:
    layer, optimizer = start(level)
    backward(layer, optimizer, first)
    optimizer.step()
    before = layer.weight.item()
    layer.zero_grad()
    backward(layer, optimizer, 0.25)
    optimizer.step()
    assert layer.weight.item() == before - 0.25


def test_a_delayed_overflow_check_moves_no_scale() -> None:
    layer, optimizer = start("O1")
    backward(layer, optimizer, float("inf"), delay_overflow_check=True)
    assert amp.state_dict() == {"loss_scaler0": {"loss_scale": 65536.0, "unskipped": 0}}
    assert not optimizer._amp_stash.skips


def test_clipping_master_params_clips_unscaled_gradients() -> None:
    for level in LEVELS:
        layer, optimizer = start(level)
        backward(layer, optimizer, 0.5)
        norm = nn.utils.clip_grad_norm_(amp.master_params(optimizer), 0.25)
        assert norm == 0.5
        optimizer.step()
        assert layer.weight.item() == pytest.approx(0.75, abs=2.0**-11)


def test_a_backward_that_raises_gives_back_earlier_gradients() -> None:
    for level in LEVELS:
        layer, optimizer = start(level)
        backward(layer, optimizer, 0.5)
        with pytest.raises(KeyError), amp.scale_loss(torch.ones(()), optimizer):
            raise KeyError
        assert master(optimizer).grad == 0.5


# Several of everything ----------------------------------------------------------------------


def two(level: str, num_losses: int) -> tuple[list[nn.Linear], list[Any]]:
    layers = [one_weight(), one_weight()]
    optimizers = [torch.optim.SGD(layer.parameters(), lr=1.0) for layer in layers]
    return amp.initialize(
        layers,
        optimizers,
        opt_level=level,
        num_losses=num_losses,
        loss_scale="dynamic",
        verbosity=0,
    )


@pytest.mark.parametrize("level", LEVELS)
def test_each_loss_has_its_own_scale_and_its_own_skip(level: str) -> None:
    layers, optimizers = two(level, num_losses=2)
    backward(layers[0], optimizers[0], float("inf"), loss_id=0)
    backward(layers[1], optimizers[1], 0.5, loss_id=1)
    for optimizer in optimizers:
        optimizer.step()
    assert [layer.weight.item() for layer in layers] == [1.0, 0.5]
    assert (scale(0), scale(1)) == (32768.0, 65536.0)


@pytest.mark.parametrize("level", LEVELS)
def test_a_loss_of_two_optimizers_skips_both(level: str) -> None:
    layers, optimizers = two(level, num_losses=1)
    x = torch.ones(1, 1)
    loss = layers[0](x).float() * float("inf") + layers[1](x).float()
    with amp.scale_loss(loss.sum(), optimizers) as scaled:
        scaled.backward()
    for optimizer in optimizers:
        optimizer.step()
    assert [layer.weight.item() for layer in layers] == [1.0, 1.0]


def test_two_overflows_before_one_step_skip_it_once(capsys: pytest.CaptureFixture[str]) -> None:
    layer, optimizer = start("O1", num_losses=2, verbosity=1)
    capsys.readouterr()
    for loss_id in (1, 0):
        backward(layer, optimizer, float("inf"), loss_id=loss_id)
    optimizer.step()
    # As in Apex, the loss that made the skip names it; both scales have moved.
    assert capsys.readouterr().out.count("loss scaler 1 ") == 1
    assert (scale(0), scale(1)) == (32768.0, 32768.0)
    optimizer.zero_grad()
    backward(layer, optimizer, 0.5)
    optimizer.step()
    assert layer.weight.item() == 0.5


def test_groups_added_later_get_masters_too() -> None:
    layer, optimizer = start("O2")
    other = one_weight().half()
    optimizer.add_param_group({"params": other.parameters(), "lr": 0.5})
    loss = layer(torch.ones(1, 1)) + other(torch.ones(1, 1).half()).float()
    with amp.scale_loss(loss.sum() * 0.25, optimizer) as scaled:
        scaled.backward()
    optimizer.step()
    assert (layer.weight.item(), other.weight.item()) == (0.75, 0.875)
    assert [param.dtype for param in amp.master_params(optimizer)] == [torch.float32] * 2


def test_parameters_that_need_no_gradient_get_no_masters() -> None:
    layer = one_weight()
    frozen = one_weight().requires_grad_(False)
    model = nn.Sequential(frozen, layer)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model, optimizer = amp.initialize(model, optimizer, opt_level="O2", verbosity=0)
    optimizer.zero_grad()
    assert [param.dtype for param in amp.master_params(optimizer)] == [
        torch.float16,
        torch.float32,
    ]


def test_an_optimizers_state_moves_to_the_masters_in_fp32() -> None:
    layer = one_weight()
    optimizer = torch.optim.Adam(layer.parameters())
    layer(torch.ones(1, 1)).sum().backward()
    optimizer.step()
    layer, optimizer = amp.initialize(layer, optimizer, opt_level="O2", verbosity=0)
    optimizer.zero_grad()
    state = optimizer.state[master(optimizer)]
    assert state["exp_avg"].dtype == torch.float32
    assert len(optimizer.state) == 1


def test_gradients_from_before_the_masters_are_dropped() -> None:
    model = nn.BatchNorm1d(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    for param in model.parameters():
        param.grad = torch.ones_like(param)
    options: dict[str, Any] = {"opt_level": "O2", "loss_scale": 8.0, "verbosity": 0}
    model, optimizer = amp.initialize(model, optimizer, **options)
    with amp.scale_loss(model(torch.ones(2, 1)).sum(), optimizer) as scaled:
        scaled.backward()
    # A batch of equal rows comes out of a batch norm as its bias, here twice.
    assert (model.bias.grad, model.weight.grad) == (2.0, 0.0)


def test_zero_grad_zeroes_as_apex_did_unless_told_to_forget() -> None:
    layer, optimizer = start("O2")
    backward(layer, optimizer, 0.5)
    optimizer.zero_grad()
    assert layer.weight.grad == 0.0
    assert master(optimizer).grad is None
    optimizer.zero_grad(set_to_none=True)
    assert layer.weight.grad is None


@pytest.mark.parametrize("level", LEVELS)
def test_schedulers_made_before_and_after_go_on_working(level: str) -> None:
    layer = one_weight()
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    before = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5)
    layer, optimizer = amp.initialize(layer, optimizer, opt_level=level, verbosity=0)
    after = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    backward(layer, optimizer, 0.25)
    optimizer.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before.step()
        after.step()
    assert layer.weight.item() == 0.875
    assert optimizer.param_groups[0]["lr"] == 0.25


def test_a_skipped_first_step_makes_a_scheduler_warn_as_under_apex() -> None:
    layer, optimizer = start("O1")
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    backward(layer, optimizer, float("inf"))
    optimizer.step()
    with pytest.warns(UserWarning, match=r"lr_scheduler.step\(\)` before `optimizer.step\(\)"):
        scheduler.step()


# Bad input ----------------------------------------------------------------------------------


def test_before_initialize_scale_loss_says_what_is_missing() -> None:
    with pytest.raises(RuntimeError, match=r"call model, optimizer = amp\.initialize"):  # noqa: SIM117
        with amp.scale_loss(torch.ones(()), []):
            pass


def test_an_optimizer_that_was_not_initialized_is_refused() -> None:
    start("O1")
    stranger = torch.optim.SGD(one_weight().parameters(), lr=1.0)
    with pytest.raises(RuntimeError, match=r"this SGD has not been through amp\.initialize"):  # noqa: SIM117
        with amp.scale_loss(torch.ones(()), stranger):
            pass


@pytest.mark.parametrize("loss_id", [1, -1, 7])
def test_a_loss_id_without_a_scale_is_refused(loss_id: int) -> None:
    _, optimizer = start("O1")
    with pytest.raises(IndexError, match=f"loss_id={loss_id} has no loss scale"):  # noqa: SIM117
        with amp.scale_loss(torch.ones(()), optimizer, loss_id=loss_id):
            pass


def test_closures_are_refused_with_masters_and_when_skipping() -> None:
    layer, optimizer = start("O2")
    with pytest.raises(RuntimeError, match="without closures"):
        optimizer.step(lambda: 0.0)
    layer, optimizer = start("O1")
    backward(layer, optimizer, float("inf"))
    with pytest.raises(RuntimeError, match="without closures"):
        optimizer.step(lambda: 0.0)
