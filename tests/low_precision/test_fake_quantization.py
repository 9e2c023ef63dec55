"""Fake quantisation against torch's casts and against quantize_blocks, bit for bit."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch

from ampcourse.blocks import SCHEMES, quantize_blocks
from ampcourse.low_precision import fake_quantize, scale_for

BLOCKED = [name for name, scheme in SCHEMES.items() if scheme.block]
TORCH = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}


def matrix(rows: int, columns: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    size = torch.randint(-12, 4, (rows, 1), generator=generator)
    return torch.randn(rows, columns, generator=generator) * 2.0**size


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.equal(one.view(torch.int32), other.contiguous().view(torch.int32))


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("shape", [(64, 96), (28, 40), (1, 5), (33, 1)])
@pytest.mark.parametrize("name", BLOCKED)
def test_blocks_are_those_of_quantize_blocks(name: str, shape: tuple[int, int], axis: int) -> None:
    x = matrix(*shape, seed=3)
    x[0, 0] = 0.0
    expected = quantize_blocks(x, name, axis, partial="pad").dequantize()
    found = fake_quantize(x, name, axis)
    assert same_bits(found, expected)
    assert found.shape == x.shape


@pytest.mark.parametrize("name", BLOCKED)
def test_blocks_of_zeros_tiny_numbers_and_lost_blocks_are_those_of_quantize_blocks(
    name: str,
) -> None:
    x = torch.zeros(8, 32)
    x[1], x[2], x[3], x[4], x[5] = -0.0, 1e-30, 1e-44, 1e30, 5.0
    x[5, ::2] *= -1e-6
    for y in (x, x[:2], x[2:3]):
        assert same_bits(fake_quantize(y, name), quantize_blocks(y, name).dequantize())
    x[0, 3], x[6, 31], x[7, 0] = torch.nan, -torch.inf, 3.0
    found, expected = fake_quantize(x, name), quantize_blocks(x, name).dequantize()
    assert torch.equal(found.isnan(), expected.isnan())
    assert found[0].isnan().any()
    assert not found[7].isnan().any()
    assert same_bits(found.nan_to_num(), expected.nan_to_num())


@pytest.mark.parametrize("fmt", list(TORCH))
@pytest.mark.parametrize("scale", [None, 1.0, 2.0**-3, 2.0**9])
def test_one_scale_per_tensor_is_torchs_saturated_cast_of_the_scaled_tensor(
    fmt: str, scale: float | None
) -> None:
    x = matrix(64, 64, seed=4) * 100
    largest = torch.finfo(TORCH[fmt]).max
    used = scale_for(x.abs().max().item(), fmt) if scale is None else scale
    expected = (x * used).clamp(-largest, largest).to(TORCH[fmt]).float() / used
    assert same_bits(fake_quantize(x, f"per_tensor_{fmt}", scale=scale), expected)


def test_a_scale_too_large_clips_and_a_scale_from_the_amax_does_not() -> None:
    x = torch.tensor([1.0, 100.0])
    assert fake_quantize(x, "per_tensor_e4m3", scale=256.0).tolist() == [1.0, 1.75]
    assert fake_quantize(x, "per_tensor_e4m3").tolist() == [1.0, 96.0]


@pytest.mark.parametrize("fmt", ["bf16", None])
def test_no_format_is_torchs_cast_to_bfloat16(fmt: str | None) -> None:
    x = matrix(64, 64)
    assert same_bits(fake_quantize(x, fmt), x.bfloat16().float())


def test_fp32_changes_nothing_and_half_types_come_out_as_fp32() -> None:
    x = matrix(4, 32)
    assert same_bits(fake_quantize(x, "fp32"), x)
    for dtype in (torch.bfloat16, torch.float16):
        narrow = x.to(dtype)
        assert fake_quantize(narrow, "mxfp4").dtype == torch.float32
        assert same_bits(fake_quantize(narrow, "mxfp4"), fake_quantize(narrow.float(), "mxfp4"))


def test_unscaled_fp8_clamps_and_unscaled_fp16_overflows() -> None:
    x = torch.tensor([1e6, -1e6])
    assert fake_quantize(x, "e4m3").tolist() == [448.0, -448.0]
    assert fake_quantize(x, "fp16").isinf().all()


def test_per_tensor_an_infinity_is_clamped_and_a_nan_stays() -> None:
    x = torch.tensor([torch.inf, -torch.inf, torch.nan, 2.0])
    found = fake_quantize(x, "per_tensor_e4m3", scale=1.0)
    assert found[:2].tolist() == [448.0, -448.0]
    assert found[2].isnan()
    assert found[3] == 2.0


@pytest.mark.parametrize("name", ["mxfp4", "nvfp4", "per_tensor_e2m1"])
def test_stochastic_elements_are_neighbours_with_the_right_mean(name: str) -> None:
    x = torch.full((4000, 32), 1.2)
    x[:, ::16] = 6.0
    x[0] = 2688.0 if name == "nvfp4" else 6.0  # makes the tensor's scale 1
    generator = torch.Generator().manual_seed(5)
    drawn = fake_quantize(x, name, mode="stochastic", generator=generator)[1:, 1:16]
    assert set(drawn.unique().tolist()) == {1.0, 1.5}
    # The mean of n draws from {1, 1.5} has a standard error of 0.25 / sqrt(n) at most.
    assert abs(drawn.double().mean().item() - 1.2) < 5 * 0.25 / drawn.numel() ** 0.5


@pytest.mark.parametrize("fmt", ["mxfp4", "bf16", None])
def test_a_scale_from_outside_is_refused_where_a_format_makes_its_own(fmt: str | None) -> None:
    with pytest.raises(ValueError, match=r"scale = 2\.0 is of no use"):
        fake_quantize(torch.ones(32), fmt, scale=2.0)


@pytest.mark.parametrize("fmt", ["mxfp4", "nvfp4", "per_tensor_e4m3", "bf16"])
@pytest.mark.parametrize("shape", [(0, 32), (3, 0)])
def test_empty_tensors_stay_empty(fmt: str, shape: tuple[int, int]) -> None:
    for axis in (0, -1):
        assert fake_quantize(torch.zeros(shape), fmt, axis).shape == shape


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32])
def test_other_types_are_refused(dtype: torch.dtype) -> None:
    with pytest.raises(TypeError, match=f"cannot quantise {dtype}"):
        fake_quantize(torch.ones(32, dtype=dtype), "mxfp4")
