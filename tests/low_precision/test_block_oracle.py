"""MX and NVFP4 blocks against a second formulation of the rule, and against published blocks."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("ml_dtypes")

import torch

from ampcourse.blocks import quantize_blocks
from ampcourse.low_precision import fake_quantize
from tests.low_precision.block_rule import ELEMENTS, mx_blocks, nvfp4_blocks


def blocks(count: int, size: int, seed: int) -> np.ndarray:
    """Return float32 blocks of widely different sizes, with zeros, ties and powers of two."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((count, size)) * np.exp2(rng.integers(-30, 30, (count, 1)))
    x *= np.exp2(-rng.integers(0, 8, (count, size)))
    ties = rng.integers(-14, 15, (count // 4, size)) / 4
    x[: count // 4] = ties * np.exp2(rng.integers(-9, 9, (count // 4, 1)))
    x[:, -1] *= rng.integers(0, 2, count)
    x[0] = 0
    return x.astype(np.float32)


@pytest.mark.parametrize("name", list(ELEMENTS))
def test_mx_codes_and_values_are_those_of_the_second_formulation(name: str) -> None:
    x = blocks(200, 32, seed=1)
    expected, found = mx_blocks(x, name), quantize_blocks(x, name)
    assert np.array_equal(found.scales.codes.ravel(), expected.scales)
    assert np.array_equal(found.elements.codes, expected.elements)
    assert np.array_equal(found.dequantize(), expected.values)
    assert np.array_equal(fake_quantize(torch.from_numpy(x), name).numpy(), expected.values)


@pytest.mark.parametrize("exponent", [-149, -140, -127, -118, 118, 127])
@pytest.mark.parametrize("name", ["mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"])
def test_mx_scales_at_the_ends_of_e8m0_are_those_of_the_second_formulation(
    name: str, exponent: int
) -> None:
    significands = np.random.default_rng(2).uniform(-2, 2, (20, 32))
    x = np.ldexp(significands, exponent).astype(np.float32)
    expected, found = mx_blocks(x, name), quantize_blocks(x, name)
    assert np.array_equal(found.scales.codes.ravel(), expected.scales)
    assert np.array_equal(found.elements.codes, expected.elements)
    assert np.array_equal(fake_quantize(torch.from_numpy(x), name).numpy(), expected.values)


@pytest.mark.parametrize("seed", range(4))
def test_nvfp4_codes_and_values_are_those_of_the_second_formulation(seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal((300, 16)).astype(np.float32)
    x *= np.exp2(-np.random.default_rng(seed).integers(0, 20, (300, 1))).astype(np.float32)
    overall, expected = nvfp4_blocks(x)
    found = quantize_blocks(x, "nvfp4")
    assert found.tensor_scale == overall
    assert np.array_equal(found.scales.codes.ravel(), expected.scales)
    assert np.array_equal(found.elements.codes, expected.elements)
    single = expected.values.astype(np.float32)
    assert np.array_equal(fake_quantize(torch.from_numpy(x), "nvfp4").numpy(), single)


# Blocks of 32 with their scale and E4M3 codes as published in torchao's test of its rule RCEIL,
# our "fit" (pytorch/ao, test/prototype/mx_formats/test_mx_tensor.py, BSD-3-Clause, "fp32 normal"
# and "bf16 normal"); numbers are given by their bits.
FP32_BITS = """1037408064 1058534842 1053630662 1063310394 994704128 1057245441 1060663708
1058053571 1052395648 1064831570 1038427336 1064777688 1059248393 1060959028
1062878286 1057799482 1057854101 1053562724 1027482352 1060498324 1063238522
1060472055 1054346794 1029092912 1056687298 1059146141 1037992128 1064097772
1056522806 1059255744 1064364912 1060606252"""
FP32_CODES = """93 113 109 118 53 112 116 113 108 120 94 119 114 116 118 113 113 109 84 115 118 115
110 85 112 114 94 119 112 114 119 115"""
BF16_BITS = """15752 16143 16182 15896 16195 16186 16048 16223 15988 16231 16140 16088 16032 16240
16228 16133 16210 16024 16248 16187 16050 15696 16060 15956 16131 16251 15896 16014 15808 16024
16159 16186"""
BF16_CODES = """88 113 115 98 116 116 107 118 103 118 113 110 106 119 118 112 117 106 120 116 107 85
108 101 112 120 98 105 92 106 114 116"""


@pytest.mark.parametrize(
    ("bits", "shift", "codes"), [(FP32_BITS, 0, FP32_CODES), (BF16_BITS, 16, BF16_CODES)]
)
def test_published_mxfp8_blocks_come_out(bits: str, shift: int, codes: str) -> None:
    words = np.array(bits.split(), np.uint32) << np.uint32(shift)
    found = quantize_blocks(words.view(np.float32), "mxfp8_e4m3", scale_rule="fit")
    assert found.scales.codes.tolist() == [119]
    assert found.elements.codes.tolist() == [int(code) for code in codes.split()]
