"""Saved and loaded as Apex's scripts do: O1 goes on bit for bit, O2 without its low bits."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ampcourse.amp import opt_levels as amp


@pytest.fixture(autouse=True)
def no_level_is_left() -> Iterator[None]:
    """Take the patches off again."""
    yield
    amp.deactivate()


class Run:
    """A training that can be saved, loaded, and taken some steps further."""

    def __init__(self, level: str, seed: int) -> None:
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        self.model, self.optimizer = amp.initialize(
            model, optimizer, opt_level=level, loss_scale="dynamic", verbosity=0
        )

    def steps(self, first: int, last: int) -> Run:
        for number in range(first, last):
            generator = torch.Generator().manual_seed(number)
            x = torch.randn(8, 6, generator=generator)
            y = torch.randint(0, 3, (8,), generator=generator)
            self.optimizer.zero_grad()
            loss = 64 * F.cross_entropy(self.model(x), y)  # the first steps overflow in FP16
            with amp.scale_loss(loss / 64 if number > 5 else loss, self.optimizer) as scaled:
                scaled.backward()
            self.optimizer.step()
        return self

    def saved(self) -> io.BytesIO:
        file = io.BytesIO()
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "amp": amp.state_dict(),
            "masters": list(amp.master_params(self.optimizer)),
        }
        torch.save(state, file)
        file.seek(0)
        return file

    def load(self, file: io.BytesIO) -> dict[str, Any]:
        state: dict[str, Any] = torch.load(file, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        amp.load_state_dict(state["amp"])
        return state

    def tensors(self) -> list[torch.Tensor]:
        return [*self.model.parameters(), *self.model.buffers()]


def same(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return all(map(torch.equal, one, other))


@pytest.mark.parametrize("level", ["O0", "O1", "O3"])
def test_resuming_without_masters_goes_on_bit_for_bit(level: str) -> None:
    run = Run(level, seed=0).steps(0, 5)
    file, state = run.saved(), amp.state_dict()
    whole = run.steps(5, 10).tensors()
    end = amp.state_dict()
    resumed = Run(level, seed=1)
    resumed.load(file)
    assert amp.state_dict() == state
    assert same(resumed.steps(5, 10).tensors(), whole)
    assert amp.state_dict() == end


def test_resuming_o2_as_apex_did_loses_the_masters_low_bits_and_adding_them_does_not() -> None:
    run = Run("O2", seed=0).steps(0, 5)
    file = run.saved()
    whole = run.steps(5, 10).tensors()
    resumed = Run("O2", seed=1)
    resumed.load(file)
    assert not same(resumed.steps(5, 10).tensors(), whole)

    file.seek(0)
    resumed = Run("O2", seed=1)
    # Make the masters first: until then the optimizer's state is cast to the model's FP16.
    resumed.optimizer.zero_grad()
    masters = resumed.load(file)["masters"]
    with torch.no_grad():
        for master, value in zip(amp.master_params(resumed.optimizer), masters, strict=True):
            master.copy_(value)
    assert same(resumed.steps(5, 10).tensors(), whole)


@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3"])
def test_a_saved_model_is_fp32_and_loads_into_a_plain_one(level: str) -> None:
    run = Run(level, seed=0).steps(0, 2)
    state = run.model.state_dict()
    floating = [value for value in state.values() if value.is_floating_point()]
    assert {value.dtype for value in floating} == {torch.float32}
    plain = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    plain.load_state_dict(state)
    for one, other in zip(plain.parameters(), run.model.parameters(), strict=True):
        assert torch.equal(one, other.float())


def test_the_hook_has_the_name_that_torchs_onnx_export_takes_off() -> None:
    run = Run("O2", seed=0)
    for module in run.model.modules():
        assert [type(hook).__name__ for hook in module._state_dict_hooks.values()] == [
            "O2StateDictHook"
        ]


def test_the_state_has_apexs_keys() -> None:
    model = nn.Linear(1, 1)
    amp.initialize(model, num_losses=2, verbosity=0)
    # apex/amp/frontend.py at dec4fdd6, state_dict.
    assert amp.state_dict() == {
        "loss_scaler0": {"loss_scale": 65536.0, "unskipped": 0},
        "loss_scaler1": {"loss_scale": 65536.0, "unskipped": 0},
    }
    given: dict[str, Any] = {"epoch": 3}
    assert amp.state_dict(given) is given
    assert set(given) == {"epoch", "loss_scaler0", "loss_scaler1"}


def entry(scale: float) -> dict[str, float]:
    return {"loss_scale": scale, "unskipped": 7}


@pytest.mark.parametrize(
    ("saved", "expected"), [([8.0], [8.0, 65536.0]), ([8.0, 4.0, 2.0], [8.0, 4.0])]
)
def test_another_number_of_scales_is_loaded_as_far_as_it_goes_with_a_warning(
    saved: list[float], expected: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    amp.initialize(nn.Linear(1, 1), num_losses=2, verbosity=0)
    amp.load_state_dict({f"loss_scaler{i}": entry(scale) for i, scale in enumerate(saved)})
    printed = capsys.readouterr().out
    assert printed.startswith(f"Warning: the state has {len(saved)} loss scales, amp has 2")
    assert [value["loss_scale"] for value in amp.state_dict().values()] == expected


@pytest.mark.parametrize(
    ("state", "error", "message"),
    [
        ({"loss_scaler0": entry(2.0), "scale": 3.0}, RuntimeError, "'scale' is no loss scale"),
        ({"loss_scaler0": {"loss_scale": 2.0}}, KeyError, "unskipped"),
    ],
    ids=["GradScaler's", "incomplete"],
)
def test_a_state_that_is_not_ours_changes_nothing(
    state: dict[str, Any], error: type[Exception], message: str
) -> None:
    amp.initialize(nn.Linear(1, 1), verbosity=0)
    before = amp.state_dict()
    with pytest.raises(error, match=message):
        amp.load_state_dict(state)
    assert amp.state_dict() == before
