"""A live run gives a record like the shipped ones."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
import torch

from ampcourse.benchmark import live
from ampcourse.benchmark.report import sentence
from ampcourse.training.data import FashionMnist, fashion_mnist
from ampcourse.training.hardware import Hardware, this_cpu, this_machine
from ampcourse.training.loop import Run, race


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Hardware:
    monkeypatch.setattr(live, "SIZES", {"cpu": {"width": 2, "batch": 500, "epochs": 1}})
    return Hardware("cpu", "a CPU", bf16=False, fp16=False)


def test_live_run_is_a_measured_record_that_names_machine_and_versions(tiny: Hardware) -> None:
    result = live.compare(tiny, seconds=600)
    assert (result.kind, result.unit) == ("measured", "ms/step")
    assert result.hardware == "a CPU, 1 core"
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


def test_too_few_steps_are_said_to_be_too_few(tiny: Hardware) -> None:
    result = live.compare(tiny, seconds=0)
    assert result.doubt == "too few steps to believe: 1, not 8"
    assert "too few steps to believe" in sentence(result)


def test_enough_steps_leave_no_doubt(tiny: Hardware, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(live.SIZES, "cpu", {"width": 2, "batch": 250, "epochs": 1})
    result = live.compare(tiny, seconds=600)
    assert (result.flags["steps"], result.doubt) == (8, "")


def test_time_before_the_training_counts_towards_the_limit(
    tiny: Hardware, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []

    def slow_data(**options: Any) -> FashionMnist:
        time.sleep(0.2)
        return fashion_mnist(**options)

    def spy(*args: Any, seconds: float, **options: Any) -> list[Run]:
        given.append(seconds)
        return race(*args, seconds=0, **options)

    monkeypatch.setattr(live, "fashion_mnist", slow_data)
    monkeypatch.setattr(live, "race", spy)
    live.compare(tiny, seconds=10, repeats=2)
    assert given[0] < (10 - 0.2) / 2  # two trainings share what is left
    assert 5 < given[1] < 10 - 0.2


@pytest.fixture
def broken_gpu(tiny: Hardware, monkeypatch: pytest.MonkeyPatch) -> Hardware:
    """A GPU whose training raises; the CPU beside it is `tiny`'s."""
    monkeypatch.setitem(live.SIZES, "cuda", live.SIZES["cpu"])

    def out_of_memory(*args: Any, device: str, **options: Any) -> list[Run]:
        if device == "cuda":
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return race(*args, device=device, **options)

    monkeypatch.setattr(live, "race", out_of_memory)
    return Hardware("cuda", "a GPU", bf16=False, fp16=True)


def test_gpu_without_memory_is_replaced_by_the_cpu_and_the_note_says_so(
    broken_gpu: Hardware,
) -> None:
    result = live.compare(broken_gpu, seconds=0)
    assert result.hardware == f"{this_cpu().name}, 1 core"
    assert result.note == "Your GPU has too little free memory; the CPU is measured."
    assert result.amp.precision == "bf16"


def test_comparison_takes_the_device_that_this_machine_chose(
    tiny: Hardware, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = replace(tiny, remark="Your GPU (sm_61) is not supported by this PyTorch.")
    monkeypatch.setattr(live, "this_machine", lambda: chosen)
    result = live.compare(seconds=0)
    assert (result.hardware, result.note) == ("a CPU, 1 core", chosen.remark)


def test_an_error_on_the_cpu_is_not_hidden(tiny: Hardware, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **options: Any) -> list[Run]:
        raise RuntimeError("a bug of ours")

    monkeypatch.setattr(live, "race", broken)
    with pytest.raises(RuntimeError, match="a bug of ours"):
        live.compare(tiny)


@pytest.mark.parametrize(
    ("capability", "setting", "expected"),
    [((9, 0), "tf32", "tf32"), ((9, 0), "ieee", "fp32"), ((7, 5), "tf32", "fp32")],
)
def test_gpu_baseline_is_called_tf32_exactly_where_convolutions_use_it(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], setting: str, expected: str
) -> None:
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    monkeypatch.setattr(live, "_conv_precision", lambda: setting)
    gpu = Hardware("cuda", "a GPU", bf16=True, fp16=True)
    assert live._baseline_precision(gpu) == expected


def test_amd_gpu_has_no_tf32_whatever_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "hip", "6.4")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 4))
    monkeypatch.setattr(live, "_conv_precision", lambda: "tf32")
    gpu = Hardware("cuda", "a GPU", bf16=True, fp16=True)
    assert live._baseline_precision(gpu) == "fp32"
    assert live._versions(gpu)["rocm"] == "6.4"


def test_zero_repeats_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        live.main(["--repeats", "0"])
    assert "at least 1 training" in capsys.readouterr().err


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_live_run_on_a_gpu_takes_seconds() -> None:
    result = live.compare(this_machine())
    assert result.flags["steps"] >= 4
