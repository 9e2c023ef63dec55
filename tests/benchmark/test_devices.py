"""The devices' peaks are the quoted ones, found by the names that drivers use."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch

from ampcourse.benchmark import devices
from ampcourse.benchmark.devices import DEVICES, Device, find_device, measure_cpu, recognise
from ampcourse.tensor_core.throughput import GPUS

# The data sheets' figures as the course quotes them: FP32, TF32, FP16 in TFLOP/s, GB/s.
QUOTED = {
    "T4": (8.1, None, 65, 320),
    "V100": (15.7, None, 125, 900),
    "RTX 4090": (82.6, 82.6, 165, 1008),
    "A100": (19.5, 156, 312, 2039),
    "H100": (67, 495, 989, 3350),
    "H200": (67, 495, 989, 4800),
}


@pytest.mark.parametrize("name", QUOTED)
def test_peaks_are_the_quoted_dense_ones(name: str) -> None:
    device = DEVICES[name]
    found = *(device.peaks.get(fmt) for fmt in ("fp32", "tf32", "fp16")), device.bandwidth
    assert found == QUOTED[name]
    assert device.kind == "quoted"


# SMs, multiply-adds per clock and SM in FP32 and on Tensor Cores, GHz: from white papers.
UNITS = {
    "RTX 3090": (82, 128, 256, 1.695),
    "RTX 2080 Ti": (68, 64, 256, 1.545),
    "GTX 1080 Ti": (28, 128, 128, 1.582),
}


@pytest.mark.parametrize("name", UNITS)
def test_peaks_of_cards_are_units_times_clock(name: str) -> None:
    sms, fp32, tensor, ghz = UNITS[name]
    for fmt, per_clock in (("fp32", fp32), ("fp16", tensor)):
        assert abs(2 * sms * per_clock * ghz / 1000 - DEVICES[name].peak(fmt)) < 0.06


def test_ridges_are_those_of_the_data_sheets() -> None:
    ridges = [round(DEVICES[name].ridge("fp16")) for name in ("V100", "A100", "RTX 4090", "H200")]
    assert ridges == [139, 153, 164, 206]


def test_every_gpu_with_tensor_core_counts_is_here_and_every_device_names_a_source() -> None:
    assert set(GPUS) <= set(DEVICES)
    assert all(device.source for device in DEVICES.values())


@pytest.mark.parametrize(
    ("driver_name", "device"),
    [
        ("Tesla V100-SXM2-16GB", "V100"),
        ("Tesla T4", "T4"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA A100-SXM4-40GB", "A100 40 GB"),
        ("NVIDIA A100-PCIE-40GB", "A100 40 GB"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H200", "H200"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA GeForce RTX 3090", "RTX 3090"),
        ("NVIDIA GeForce RTX 2080 Ti", "RTX 2080 Ti"),
        ("GeForce GTX 1080 Ti", "GTX 1080 Ti"),
    ],
)
def test_drivers_names_are_recognised(driver_name: str, device: str) -> None:
    found = recognise(driver_name)
    assert found is not None
    assert found.name == device


@pytest.mark.parametrize(
    "other",
    [
        "NVIDIA GeForce RTX 3090 Ti",
        "NVIDIA GeForce RTX 4090 D",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA GeForce GTX 1080",
        "NVIDIA H100 PCIe",
        "NVIDIA H100 NVL",
        "NVIDIA H200 NVL",
        "Tesla V100-PCIE-16GB",
        "NVIDIA A100 80GB PCIe",
        "Quadro T400",
        "AMD Instinct MI300X",
    ],
)
def test_relatives_with_other_peaks_are_not_taken_for_them(other: str) -> None:
    assert recognise(other) is None


def test_a_name_is_found_in_any_case_and_a_record_is_taken_as_it_is() -> None:
    assert find_device("rtx 4090 ") is DEVICES["RTX 4090"]
    assert find_device(DEVICES["T4"]) is DEVICES["T4"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: find_device("A10"), "did you mean 'A100'?"),
        (lambda: DEVICES["V100"].peak("bf16"), "V100 has no quoted peak for bf16; there is fp32"),
        (lambda: measure_cpu(0), "seconds=0"),
        (lambda: Device("x", "guessed", {}, 1, frozenset(), ""), "kind='guessed'"),
    ],
)
def test_what_is_unknown_is_refused_by_name(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_peaks_cannot_be_changed_by_accident() -> None:
    with pytest.raises(TypeError):
        DEVICES["T4"].peaks["fp16"] = 1.0  # type: ignore[index]


def test_a_measured_cpu_has_every_type_and_says_that_it_is_measured() -> None:
    cpu = measure_cpu(0.05)
    assert cpu.kind == "measured"
    assert set(cpu.peaks) == {"fp32", "bf16", "fp16"}
    assert min(*cpu.peaks.values(), cpu.bandwidth) > 0
    assert not cpu.tensor_cores
    assert f"{torch.get_num_threads()} thread" in cpu.name


def test_rates_are_operations_and_bytes_over_the_best_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_best_time", lambda run, repeats: 0.5)
    assert devices._gemm_tflops(torch.float32, 1e-9) == 2 * 128**3 / 0.5 / 1e12
    assert devices._sum_gbytes(1e-9) == 3 * 4 * 2**24 / 0.5 / 1e9
