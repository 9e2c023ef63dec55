"""Peaks from counts and clocks against those the data sheets print."""

from __future__ import annotations

import dataclasses
from decimal import Decimal

import pytest

from ampcourse.tensor_core.throughput import GPUS, Gpu, gemm_intensity, peak_tflops, ridge

#: FP32, TF32 and FP16 in TFLOP/s and GB/s, dense, as published.
PUBLISHED = {
    "T4": ("8.1", None, "65", 320),
    "V100": ("15.7", None, "125", 900),
    "RTX 4090": ("82.6", "82.6", "165", 1008),
    "A100": ("19.5", "156", "312", 2039),
    "H100": ("67", "495", "989", 3350),
    "H200": ("67", "495", "989", 4800),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_derived_peaks_round_to_the_published_ones(name: str) -> None:
    # Data sheets round, so each is compared to as many digits as it prints.
    *peaks, bandwidth = PUBLISHED[name]
    for fmt, text in zip(("fp32", "tf32", "fp16"), peaks, strict=True):
        if text is None:
            assert fmt not in GPUS[name].quoted
            continue
        digits = max(0, -Decimal(text).as_tuple().exponent)  # type: ignore[operator]
        assert round(peak_tflops(name, fmt), digits) == float(text)
        assert GPUS[name].quoted[fmt] == float(text)
    assert GPUS[name].bandwidth == bandwidth


def test_every_quoted_peak_is_derived() -> None:
    assert set(GPUS) == set(PUBLISHED)
    for gpu in GPUS.values():
        assert set(gpu.quoted) == {"fp32", *gpu.fma_per_clock}
        for fmt, quoted in gpu.quoted.items():
            assert abs(peak_tflops(gpu, fmt) - quoted) < 0.006 * quoted


def test_v100_has_125_tflops_from_80_of_84_sms() -> None:
    v100 = GPUS["V100"]
    assert (v100.sms, v100.chip_sms, v100.tensor_cores_per_sm) == (80, 84, 8)
    assert peak_tflops("V100", "fp16") == pytest.approx(80 * 8 * 4**3 * 2 * 1.53 / 1000, rel=1e-15)
    assert round(84 / 80 * peak_tflops(v100, "fp16"), 1) == 131.6


def test_ridges_are_peak_over_bandwidth() -> None:
    ridges = [round(ridge(name, "fp16")) for name in ("V100", "A100", "RTX 4090", "H200")]
    assert ridges == [139, 153, 164, 206]


def test_a_matrix_product_does_more_per_byte_the_larger_it_is() -> None:
    assert gemm_intensity(1, 1, 1) == 2 / (2 + 2 + 4)
    assert gemm_intensity(16, 8, 16, 2, 4) == 2 * 16 * 8 * 16 / (2 * (256 + 128) + 4 * 128)
    assert gemm_intensity(64, 64, 64) < ridge("V100", "fp16") < gemm_intensity(1024, 1024, 1024)


def test_what_is_not_there_says_what_is() -> None:
    with pytest.raises(ValueError, match="did you mean 'V100'"):
        peak_tflops("V10", "fp16")
    with pytest.raises(ValueError, match="no peak for 'tf32' on V100; there is fp32, fp16"):
        peak_tflops("v100", "tf32")


def test_records_are_frozen_and_one_s_own_gpu_can_be_made() -> None:
    v100 = GPUS["V100"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        v100.sms = 84  # type: ignore[misc]
    with pytest.raises(TypeError):
        v100.quoted["fp16"] = 1  # type: ignore[index]
    full: Gpu = dataclasses.replace(v100, sms=84)
    assert peak_tflops(full, "fp16") > peak_tflops(v100, "fp16")
