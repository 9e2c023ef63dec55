"""The seam to torch.cuda: what is asked of it, and errors that say what to try."""

from __future__ import annotations

import json
import stat
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from ampcourse.benchmark import clocks
from ampcourse.benchmark.machine import CudaMachine, Machine, MachineError, open_machine
from tests.benchmark.fake_cuda import FakeCuda, fake_machine


def test_auto_takes_the_gpu_if_there_is_one() -> None:
    assert open_machine("auto", FakeCuda()).kind == "cuda"
    assert open_machine("auto", FakeCuda(available=False)).kind == "cpu"
    assert open_machine("cpu", FakeCuda()).kind == "cpu"
    second = open_machine("cuda:1", FakeCuda(count=2))
    assert isinstance(second, CudaMachine)
    assert second.index == 1


def test_cuda_without_a_gpu_is_an_error_that_says_why_and_what_to_try(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    absent = FakeCuda(available=False)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    with pytest.raises(MachineError, match=r"nvidia-smi.*CUDA 13\.0.*--device cpu"):
        open_machine("cuda", absent)
    monkeypatch.setattr(torch.version, "cuda", None)
    with pytest.raises(MachineError, match=r"built without CUDA.*--device cpu"):
        open_machine("cuda", absent)


@pytest.mark.parametrize("text", ["gpu", "cuda:", "cuda:x", "cpu:1", "", "cuda:-1"])
def test_a_device_that_is_none_is_refused(text: str) -> None:
    if text == "cuda:":  # as torch reads it: the first one
        assert open_machine(text, FakeCuda()).kind == "cuda"
        return
    with pytest.raises(MachineError, match="choose auto, cpu, cuda or cuda:N"):
        open_machine(text, FakeCuda())


def test_a_gpu_number_that_is_not_there_is_refused() -> None:
    with pytest.raises(MachineError, match="the GPUs here are cuda:0 to cuda:1"):
        open_machine("cuda:2", FakeCuda(count=2))


def test_tf32_is_set_and_read_for_the_whole_process() -> None:
    machine = Machine()
    before = machine.tf32()
    try:
        for matmul, conv in (("tf32", "ieee"), ("ieee", "tf32")):
            machine.set_tf32(matmul, conv)
            assert torch.backends.cuda.matmul.fp32_precision == matmul
            assert machine.tf32() == {"matmul": matmul, "conv": conv}
    finally:
        machine.set_tf32(**before)


def test_a_gpu_is_timed_by_events_after_it_was_let_finish() -> None:
    cuda = FakeCuda()
    machine = fake_machine(cuda)
    cuda.calls.clear()
    order: list[Any] = []

    def work() -> None:
        order.append(list(cuda.calls))
        time.sleep(0.01)

    seconds = machine.seconds(work)
    assert order == [["synchronize"]]
    assert seconds >= 0.01  # sleep waits at least that long


def test_memory_is_asked_of_the_gpu_and_unknown_of_a_cpu() -> None:
    machine = fake_machine()
    assert machine.peak() == {"peak_allocated": 1100, "peak_reserved": 2200}
    assert machine.held() == {"allocated": 100, "reserved": 200}
    assert (machine.free_memory(), machine.total_memory()) == (8 * 2**30, 16 * 2**30)
    cpu = Machine()
    assert set(cpu.peak().values()) == set(cpu.held().values()) == {None}
    free = cpu.free_memory()
    assert free is None or free > 0


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        RuntimeError("CUDA error: out of memory"),
        RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"),
        MemoryError(),
    ],
)
def test_too_little_memory_is_known_in_all_its_words(error: BaseException) -> None:
    assert Machine().out_of_memory(error)


def test_a_real_failed_allocation_is_known() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60)
    assert Machine().out_of_memory(caught.value)


def test_other_errors_are_not_taken_for_too_little_memory() -> None:
    assert not Machine().out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert not Machine().out_of_memory(ValueError("out of memory of mine"))


@pytest.mark.parametrize("machine", [Machine(), fake_machine()], ids=["cpu", "cuda"])
def test_the_description_is_json_and_names_versions_and_hardware(machine: Machine) -> None:
    found = json.loads(json.dumps(machine.describe()))
    assert found["torch"] == torch.__version__
    assert found["python"] == sys.version.split()[0]
    assert found["kind"] == machine.kind
    assert found["tf32"] == machine.tf32()
    assert (found["capability"] == [9, 0]) == (machine.kind == "cuda")
    json.dumps(machine.clocks())


def fake_smi(folder: Path, answer: str, status: int = 0) -> str:
    """Make a program nvidia-smi that notes what it was asked and answers so."""
    tool = folder / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\necho \"$@\" > {folder}/asked\nprintf '{answer}'\nexit {status}\n")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    return str(folder)


@pytest.fixture
def without_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)


def test_clocks_come_from_nvidia_smi_where_nvml_is_not(
    without_nvml: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", fake_smi(tmp_path, "1980, 1980, 3201, 41, [N/A]"), prepend=":")
    assert clocks.gpu_clocks("GPU-7") == {
        "sm_mhz": 1980.0,
        "sm_max_mhz": 1980.0,
        "memory_mhz": 3201.0,
        "temperature_c": 41.0,
    }
    assert "-i GPU-7" in (tmp_path / "asked").read_text()


@pytest.mark.parametrize(("answer", "status"), [("", 0), ("No devices were found", 6), ("x", 0)])
def test_clocks_that_nobody_tells_are_none(
    answer: str,
    status: int,
    without_nvml: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("PATH", fake_smi(tmp_path, answer, status), prepend=":")
    assert clocks.gpu_clocks("GPU-7") is None


def test_driver_is_none_where_nobody_tells(
    without_nvml: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert clocks.gpu_driver("GPU-7") is None


def test_nvml_is_asked_by_uuid(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Nvml:
        NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

        def __getattr__(self, name: str) -> Any:
            def answer(*args: Any) -> Any:
                asked.append((name, args))
                return {"nvmlDeviceGetPowerUsage": 350_000}.get(name, 1200)

            return answer

    monkeypatch.setitem(sys.modules, "pynvml", Nvml())
    found = clocks.gpu_clocks("GPU-9")
    assert found is not None
    assert found["power_w"] == 350.0
    assert found["sm_mhz"] == 1200.0
    assert ("nvmlDeviceGetHandleByUUID", ("GPU-9",)) in asked
