"""A live run gives a record like the shipped ones."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ampcourse.benchmark import live
from ampcourse.training.hardware import Hardware, this_machine
from ampcourse.training.loop import Run, race


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Hardware:
    monkeypatch.setattr(live, "SIZES", {"cpu": {"width": 2, "batch": 500, "epochs": 1}})
    return Hardware("cpu", "a CPU", bf16=False, fp16=False)


def test_live_run_is_a_measured_record_that_names_machine_and_versions(tiny: Hardware) -> None:
    result = live.compare(tiny, seconds=600)
    assert (result.kind, result.hardware, result.unit) == ("measured", "a CPU", "ms/step")
    assert (result.baseline.precision, result.amp.precision) == ("fp32", "bf16")
    assert result.versions["torch"] == torch.__version__
    assert (result.flags["batch"], result.flags["steps"]) == (500, 4)
    assert result.speedup == result.baseline.value / result.amp.value


def test_repeating_counts_all_steps(tiny: Hardware) -> None:
    result = live.compare(tiny, repeats=2, seconds=600)
    assert (result.flags["trainings"], result.flags["steps"]) == (2, 8)


def test_cpu_runs_use_one_thread_and_give_the_others_back(
    tiny: Hardware, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def spy(*args: Any, **kwargs: Any) -> list[Run]:
        seen.append(torch.get_num_threads())
        return race(*args, **kwargs)

    monkeypatch.setattr(live, "race", spy)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert live.compare(tiny, seconds=0).flags["threads"] == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == [1]


def test_time_limit_is_kept_by_stopping_both_runs_early(tiny: Hardware) -> None:
    assert live.compare(tiny, seconds=0).flags["steps"] == 1


@pytest.mark.parametrize(
    ("capability", "setting", "expected"),
    [((9, 0), "tf32", "tf32"), ((9, 0), "ieee", "fp32"), ((7, 5), "tf32", "fp32")],
)
def test_gpu_baseline_is_called_tf32_exactly_where_convolutions_use_it(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], setting: str, expected: str
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    monkeypatch.setattr(live, "_conv_precision", lambda: setting)
    gpu = Hardware("cuda", "a GPU", bf16=True, fp16=True)
    assert live._baseline_precision(gpu) == expected


def test_zero_repeats_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        live.main(["--repeats", "0"])
    assert "at least 1 training" in capsys.readouterr().err


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_live_run_on_a_gpu_takes_seconds() -> None:
    result = live.compare(this_machine())
    assert result.flags["steps"] >= 4
