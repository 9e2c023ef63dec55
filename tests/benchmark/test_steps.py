"""A step does what its recipe says, and nothing of it is left for the next recipe."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F

from ampcourse.benchmark.machine import Machine
from ampcourse.benchmark.models import build, sgd
from ampcourse.benchmark.pictures import synthetic
from ampcourse.benchmark.recipes import BASES, parse
from ampcourse.benchmark.steps import Step, channels_last, prepare

MACHINE = Machine()
DATA = synthetic(12, count=32)


def ready(text: str, seed: int = 0, rate: float = 0.05) -> Step:
    return prepare(parse(text), build("tiny", stem="3x3", seed=seed), sgd(rate), MACHINE)


def batch(step: Step) -> tuple[torch.Tensor, torch.Tensor]:
    return step.place(DATA.inputs(DATA.train_images[:16])), DATA.train_labels[:16]


def losses(text: str, steps: int = 3) -> list[float]:
    step = ready(text)
    with step.active():
        return [step.step(*batch(step)).item() for _ in range(steps)]


def test_fp32_is_torchs_own_loop_bit_for_bit() -> None:
    model = build("tiny", stem="3x3")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    images, labels = DATA.inputs(DATA.train_images[:16]), DATA.train_labels[:16]
    expected = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        expected.append(loss.item())
    assert losses("fp32") == expected


@pytest.mark.parametrize(("name", "dtype"), [("amp-fp16", "float16"), ("amp-bf16", "bfloat16")])
def test_amp_is_torchs_autocast_and_scaler_bit_for_bit(name: str, dtype: str) -> None:
    model = build("tiny", stem="3x3")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    scaler = torch.amp.GradScaler("cpu", enabled=name == "amp-fp16")
    images, labels = DATA.inputs(DATA.train_images[:16]), DATA.train_labels[:16]
    expected = []
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cpu", getattr(torch, dtype)):
            loss = F.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        expected.append(loss.item())
    assert losses(name) == expected


def test_our_scaler_trains_as_torchs_does_bit_for_bit() -> None:
    assert losses("amp-fp16-ours", 5) == losses("amp-fp16", 5)


@pytest.mark.parametrize("name", BASES)
def test_every_base_learns_a_batch_by_heart(name: str) -> None:
    found = losses(name, 6)
    assert found[-1] < found[0]


@pytest.mark.parametrize(
    ("name", "weights", "norms"),
    [
        ("fp32", torch.float32, torch.float32),
        ("amp-fp16", torch.float32, torch.float32),
        ("O1", torch.float32, torch.float32),
        ("O2", torch.float16, torch.float32),
        ("O3", torch.float16, torch.float16),
        ("fp16", torch.float16, torch.float16),
    ],
)
def test_weights_and_batch_norms_have_the_types_of_the_recipe(
    name: str, weights: torch.dtype, norms: torch.dtype
) -> None:
    model: Any = ready(name).model
    assert model.conv1.weight.dtype == weights
    assert model.bn1.weight.dtype == norms


@pytest.mark.parametrize(
    ("name", "matmul", "conv"),
    [("fp32", "ieee", "ieee"), ("tf32", "tf32", "tf32"), ("amp-fp16", "ieee", "ieee")],
)
def test_tf32_is_set_while_active_and_put_back(name: str, matmul: str, conv: str) -> None:
    before = MACHINE.tf32()
    step = ready(name)
    with step.active():
        assert MACHINE.tf32() == {"matmul": matmul, "conv": conv}
    assert MACHINE.tf32() == before
    with pytest.raises(ZeroDivisionError), step.active():
        raise ZeroDivisionError
    assert MACHINE.tf32() == before


def test_default_is_what_torch_does_unless_told() -> None:
    before = MACHINE.tf32()
    try:
        MACHINE.set_tf32("ieee", "ieee")
        with ready("default").active():
            assert MACHINE.tf32() == MACHINE.default_tf32
    finally:
        MACHINE.set_tf32(**before)


def test_a_step_outside_of_active_is_refused() -> None:
    step = ready("fp32")
    with pytest.raises(RuntimeError, match=r"with step\.active"):
        step.step(*batch(step))
    with step.active():
        step.step(*batch(step))
    with pytest.raises(RuntimeError, match=r"with step\.active"):
        step.forward(batch(step)[0])


def test_o1_patches_torch_only_while_active() -> None:
    linear, conv = F.linear, F.conv2d
    step = ready("O1")
    assert F.linear is linear
    with step.active():
        assert F.linear is not linear
        step.step(*batch(step))
    assert F.linear is linear
    assert F.conv2d is conv


def test_levels_that_take_turns_train_as_they_do_alone() -> None:
    names = ("O1", "O2", "fp32", "O3")
    steps = {name: ready(name) for name in names}
    found: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(4):
        for name in names if turn % 2 else reversed(names):
            with steps[name].active():
                found[name].append(steps[name].step(*batch(steps[name])).item())
    assert found == {name: losses(name, 4) for name in names}
    assert [steps[name].scale for name in names] == [65536.0, 65536.0, None, None]


def test_channels_last_reaches_every_convolution_even_with_one_channel() -> None:
    step = ready("fp32+nhwc")
    seen: list[bool] = []

    def look(module: torch.nn.Module, args: Any, output: torch.Tensor) -> None:
        _, c, h, w = output.shape
        seen.append(output.stride() == (h * w * c, 1, w * c, c))

    for module in step.model.modules():
        if isinstance(module, torch.nn.Conv2d):
            module.register_forward_hook(look)
    with step.active():
        step.step(*batch(step))
    assert len(seen) == 6
    assert all(seen)


@pytest.mark.parametrize("channels", [1, 3])
def test_channels_last_moves_no_number(channels: int) -> None:
    images = torch.rand(2, channels, 4, 5)
    laid = channels_last(images)
    assert torch.equal(laid, images)
    assert laid.stride() == (20 * channels, 1, 5 * channels, channels)
    assert torch.equal(channels_last(images[:, :, ::2]), images[:, :, ::2])


@pytest.mark.parametrize("name", ["amp-fp16", "amp-fp16-ours", "O1", "O2"])
def test_a_skipped_step_changes_no_weight_and_is_counted(name: str) -> None:
    step = ready(name)
    images, labels = batch(step)
    with step.active():
        step.step(images, labels)
        # Compared as the optimizer left them, running statistics aside.
        before = [parameter.clone() for parameter in step.model.parameters()]
        broken = images.clone()
        broken[0, 0, 0, 0] = torch.inf
        step.step(broken, labels)
        after = list(step.model.parameters())
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert (step.steps, step.skipped, step.scale) == (2, 1, 32768.0)


def test_between_is_called_when_gradients_are_there_and_before_the_scaler_looks() -> None:
    step = ready("amp-fp16")
    seen = []

    def look() -> None:
        [first, *_] = step.model.parameters()
        assert first.grad is not None
        seen.append((first.grad.abs().max().item(), step.scaler.get_scale()))

    with step.active():
        step.step(*batch(step), between=look)
        plain = ready("fp32")
        with plain.active():
            plain.step(*batch(plain))
    [first, *_] = plain.model.parameters()
    assert first.grad is not None
    [(scaled, scale)] = seen
    # Scaled gradients are still there: about the scale times those of FP32.
    assert 0.9 < scaled / scale / first.grad.abs().max().item() < 1.1


@pytest.mark.parametrize("name", ["fp32", "amp-fp16", "amp-fp16-ours", "O1", "O2", "O3", "fp16"])
def test_a_run_that_is_resumed_goes_on_bit_for_bit(name: str) -> None:
    whole = losses(name, 5)
    first = ready(name)
    with first.active():
        begun = [first.step(*batch(first)).item() for _ in range(3)]
    state = first.state_dict()
    second = ready(name, seed=9)
    second.load_state_dict(state)
    with second.active():
        rest = [second.step(*batch(second)).item() for _ in range(2)]
    assert begun + rest == whole
    assert second.steps == 5


def test_another_recipes_state_is_refused() -> None:
    with pytest.raises(ValueError, match="the state is one of fp32, this is amp-bf16"):
        ready("amp-bf16").load_state_dict(ready("fp32").state_dict())


def test_forward_gives_fp32_logits_of_the_recipes_arithmetic() -> None:
    for name in ("fp32", "amp-bf16", "O2", "fp16"):
        step = ready(name)
        with step.active(), torch.no_grad():
            logits = step.forward(batch(step)[0])
        assert logits.dtype == torch.float32
        half = name != "fp32"
        rounded = torch.bfloat16 if name == "amp-bf16" else torch.float16
        assert torch.equal(logits, logits.to(rounded).float()) == half


def test_a_wrapper_goes_around_the_model_that_the_level_has_cast() -> None:
    seen = []

    def wrap(model: torch.nn.Module) -> torch.nn.Module:
        seen.append(next(model.parameters()).dtype)
        return torch.nn.Sequential(model)

    step = prepare(parse("O2"), build("tiny", stem="3x3"), sgd(0.1), MACHINE, wrap)
    with step.active():
        step.step(*batch(step))
    assert seen == [torch.float16]
    assert isinstance(step.model, torch.nn.Sequential)
