"""Whole arrays against the scalar reference, ml_dtypes and torch, and their bad inputs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from ampcourse.blocks import SCHEMES, BlockScheme, quantize_block, quantize_blocks
from ampcourse.blocks.reference import tensor_scale_of
from ampcourse.blocks.rule import FLOAT_RULES, POWER_RULES
from ampcourse.encode import encode
from ampcourse.formats import E2M1, E4M3, E8M0, FP16
from ampcourse.quantize import decode_array

MX = [name for name in SCHEMES if name.startswith("mx")]
MODES = ("nearest_even", "nearest_away", "toward_zero", "up", "down", "to_odd")


def float32_patterns(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Return finite float32 numbers whose exponents differ little within a block of 16."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**32, shape, np.uint32)
    centre = rng.integers(0, 254, (*shape[:-1], shape[-1] // 16)).repeat(16, -1)
    exponent = np.clip(centre - rng.integers(0, 12, shape), 0, 254).astype(np.uint32)
    return ((bits & np.uint32(0x807FFFFF)) | exponent << np.uint32(23)).view(np.float32)


def edges(name: str) -> np.ndarray:
    """Return blocks of which each starts with a number at the edge of some rule."""
    scheme = SCHEMES[name]
    rng = np.random.default_rng(3)
    starts = []
    for exponent in (-149, -130, -127, -126, -3, 0, 1, 100, 126):
        for significand in (1, 1 + 2**-23, 1.5, 1.75, 1.875, 1.9375, 2 - 2**-23):
            starts += [np.float32(np.ldexp(significand, exponent + k)) for k in (0, 1)]
    first = np.array(starts, np.float32)[:, None]
    with np.errstate(all="ignore"):
        rest = (first * rng.uniform(-1, 1, (len(starts), (scheme.block or 16) - 1))).astype("f4")
    return np.concatenate([first, rest], 1)


def assert_same_as_reference(x: np.ndarray, scheme: str | BlockScheme, **rules: Any) -> None:
    """Compare the codes of a 2-d array, blocks along its rows, with those of the reference."""
    found = quantize_blocks(x, scheme, **rules)
    whole = found.scheme
    finite = [abs(Fraction(float(v))) for v in x.ravel() if np.isfinite(v)]
    shared = tensor_scale_of(max(finite, default=Fraction(0)), whole)
    assert found.tensor_scale == shared
    size = whole.block or x.size
    codes = found.elements.codes.reshape(-1, size)
    scales = found.scales.codes.ravel()
    for row, numbers in enumerate(x.reshape(-1, size).tolist()):
        block = quantize_block(numbers, whole, tensor_scale=shared, **rules)
        assert scales[row] == block.scale_code
        assert tuple(codes[row].tolist()) == block.codes


@pytest.mark.parametrize("name", list(SCHEMES))
def test_codes_are_those_of_the_scalar_reference(name: str) -> None:
    powers = SCHEMES[name].scale == E8M0
    for seed, rule in enumerate(POWER_RULES if powers else FLOAT_RULES):
        assert_same_as_reference(float32_patterns((2, 32), seed), name, scale_rule=rule)
        assert_same_as_reference(edges(name)[seed::8], name, scale_rule=rule)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SCHEMES))
def test_codes_are_those_of_the_scalar_reference_on_many_blocks(name: str) -> None:
    powers = SCHEMES[name].scale == E8M0
    for seed, rule in enumerate(POWER_RULES if powers else FLOAT_RULES):
        for mode in MODES:
            x = float32_patterns((60, 32), 10 * seed + len(mode))
            assert_same_as_reference(x, name, scale_rule=rule, mode=mode)
        assert_same_as_reference(edges(name), name, scale_rule=rule)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["mxfp4", "mxfp8_e4m3", "nvfp4"])
def test_the_mode_is_that_of_the_elements(name: str, mode: str) -> None:
    assert_same_as_reference(float32_patterns((2, 32), 7), name, mode=mode)


@pytest.mark.parametrize("name", ["nvfp4", "per_tensor_e4m3", "mxfp8_e5m2"])
def test_float64_just_beside_a_midpoint_is_rounded_to_its_own_side(name: str) -> None:
    rng = np.random.default_rng(4)
    scheme = SCHEMES[name]
    x = rng.standard_normal((4, 32))
    found = quantize_blocks(x, scheme)
    scale = found.layout.across(found.scales.values.astype(float)) * found.tensor_scale
    # One step of float64 to either side of midpoints, times the scale that they will be
    # divided by: the first number of each block stays as it is and keeps the scale.
    codes = np.minimum(found.elements.codes, scheme.element.largest_code - 1)
    neighbours = [decode_array(codes + k, scheme.element, np.float64) for k in (0, 1)]
    near = found.layout.split(sum(neighbours) / 2) * scale
    for towards in (-np.inf, np.inf):
        y = found.layout.join(np.nextafter(near, towards))
        y = np.where(abs(y) > abs(x).max() / 16, x, y)
        assert_same_as_reference(y, scheme)


@pytest.mark.parametrize("mode", MODES)
def test_quotients_that_underflow_are_still_no_zeros(mode: str) -> None:
    x = np.ones((1, 32))
    x[0, :4] = 1e300, 1e-300, -1e-300, 5e-324
    assert_same_as_reference(x, "mxfp4", mode=mode)


@pytest.mark.parametrize(
    ("name", "zero_scale"),
    [(n, z) for n in ("nvfp4", "per_tensor_e4m3") for z in ("smallest", "one", "zero")]
    + [("mxfp4", "smallest"), ("mxfp4", "one")],
)
def test_zeros_and_lost_blocks_are_those_of_the_reference(name: str, zero_scale: str) -> None:
    x = np.zeros((4, 32), np.float32)
    x[1], x[2, ::2], x[3] = -0.0, 1e-30, 5.0
    assert_same_as_reference(x, name, zero_scale=zero_scale)
    assert_same_as_reference(x[:2], name, zero_scale=zero_scale)
    x[0, 3], x[2, 31] = np.nan, -np.inf
    assert_same_as_reference(x, name, zero_scale=zero_scale)


@pytest.mark.parametrize("name", ["mxfp8_e4m3", "mxfp8_e5m2"])
def test_only_the_elements_are_lost_where_that_was_asked_for(name: str) -> None:
    x = np.ones((2, 32), np.float32)
    x[0, :3] = np.nan, np.inf, -np.inf
    assert_same_as_reference(x, name, nonfinite="element")
    assert np.isnan(quantize_blocks(x, name).dequantize()[0]).all()
    assert not np.isnan(quantize_blocks(x, name).dequantize()[1]).any()
    with pytest.raises(ValueError, match="1 blocks hold an infinity or NaN"):
        quantize_blocks(x, name, nonfinite="error")


@pytest.mark.parametrize("name", MX)
def test_elements_are_ml_dtypes_own_once_scaled_and_clamped(name: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    scheme = SCHEMES[name]
    x = float32_patterns((16, 64), 5) * np.float32(2.0**-20)
    found = quantize_blocks(x, name)
    scales = found.scales.codes.view(ml_dtypes.float8_e8m0fnu).astype(np.float64)
    scaled = x.reshape(16, 2, 32) / scales[..., None]
    largest = float(scheme.element.max)
    theirs = np.clip(scaled, -largest, largest).astype(
        getattr(ml_dtypes, scheme.element.library_name)
    )
    ours = found.elements.codes.reshape(16, 2, 32)
    assert np.array_equal(ours, theirs.view(np.uint8))


def test_mxfp8_in_torchs_own_dtypes_dequantises_to_the_same_numbers() -> None:
    x = torch.from_numpy(float32_patterns((8, 64), 6) * np.float32(2.0**-10))
    found = quantize_blocks(x, "mxfp8_e4m3")
    elements = found.elements.codes.view(torch.float8_e4m3fn).double()
    scales = found.scales.codes.view(torch.float8_e8m0fnu).double()
    theirs = (elements.view(8, 2, 32) * scales[..., None]).view(8, 64).float()
    assert torch.equal(found.dequantize().view(torch.int32), theirs.view(torch.int32))


def test_nvfp4_is_the_recipe_of_float32_kernels_where_their_arithmetic_is_exact() -> None:
    rng = np.random.default_rng(8)
    x = rng.choice([-6, -4, -3, -2, -1.5, -1, -0.5, 0.5, 1, 6], (8, 4, 16)).astype(np.float32)
    x[..., 0] = 6
    x *= np.ldexp(np.float32(1), rng.integers(-4, 4, (8, 4, 1)))
    x[0, 0] = 0
    x[0, 0, 0] = 2688 / 16  # the largest, a power of two times 6 x 448
    x = torch.from_numpy(x.reshape(8, 64))
    encode_scale = (6 * 448) / x.abs().amax()
    per_block = x.view(8, 4, 16).abs().amax(-1) / 6 * encode_scale
    scales = per_block.to(torch.float8_e4m3fn)
    found = quantize_blocks(x, "nvfp4")
    assert torch.equal(found.scales.codes, scales.view(torch.uint8))
    assert found.tensor_scale == (1 / encode_scale).item()
    assert torch.equal(found.dequantize(), x)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_blocks_run_along_any_axis(axis: int) -> None:
    x = np.random.default_rng(9).standard_normal((32, 64, 32)).astype(np.float32)
    moved = np.moveaxis(x, axis, -1)
    along, last = quantize_blocks(x, "mxfp4", axis), quantize_blocks(moved.copy(), "mxfp4")
    assert np.array_equal(np.moveaxis(along.elements.codes, axis, -1), last.elements.codes)
    assert np.array_equal(np.moveaxis(along.scales.codes, axis, -1), last.scales.codes)
    assert np.array_equal(np.moveaxis(along.dequantize(), axis, -1), last.dequantize())
    assert along.scales.codes.shape[axis] == x.shape[axis] // 32


@pytest.mark.parametrize("name", list(SCHEMES))
def test_torch_and_numpy_agree_and_strides_do_not_matter(name: str) -> None:
    x = float32_patterns((32, 64), 10) * np.float32(2.0**-30)
    ours = quantize_blocks(x, name)
    for tensor in (torch.from_numpy(x), torch.from_numpy(x.T.copy()).T):
        found = quantize_blocks(tensor, name)
        assert np.array_equal(found.elements.codes.numpy(), ours.elements.codes)
        assert np.array_equal(found.scales.codes.numpy(), ours.scales.codes)
        assert found.tensor_scale == ours.tensor_scale
        assert np.array_equal(
            found.dequantize().numpy().view(np.int32), ours.dequantize().view(np.int32)
        )
    assert np.array_equal(quantize_blocks(x[:, ::-1], name, 0).dequantize(),
                          quantize_blocks(x[:, ::-1].copy(), name, 0).dequantize())  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_result_has_the_type_of_the_input_and_its_values_are_exact(dtype: str) -> None:
    x = torch.randn(4, 32, generator=torch.Generator().manual_seed(1)).to(getattr(torch, dtype))
    found = quantize_blocks(x, "mxfp6_e2m3")
    back = found.dequantize()
    assert back.dtype == x.dtype
    assert back.shape == x.shape
    exact = quantize_blocks(x.double(), "mxfp6_e2m3").dequantize()
    assert torch.equal(back.double(), exact)


def test_dequantising_to_a_narrow_type_rounds_once() -> None:
    # 27 t, with t of 24 bits, lies so close to a midpoint m of FP16 that float32 holds it as m.
    for m in range(2049, 3456, 50):
        t = Fraction(round(Fraction(m << 17, 27)), 1 << 24)
        x = torch.full((16,), float(1.5 * 1.125 * t), dtype=torch.float16)
        x[0] = float(6 * 1.125 * t)
        found = quantize_blocks(x, "nvfp4", amax=float(t * 2688))
        assert (found.tensor_scale, found.scales.values.item()) == (t, 1.125)
        assert found.elements.values[1:].eq(1.5).all()
        code = found.dequantize().view(torch.int16)[1].item()
        assert code == encode(Fraction(27, 16) * t, FP16)


def test_a_partial_block_is_refused_or_filled_up() -> None:
    x = np.random.default_rng(12).standard_normal((3, 40)).astype(np.float32)
    with pytest.raises(ValueError, match="40 values, no multiple of mxfp4's block of 32"):
        quantize_blocks(x, "mxfp4")
    found = quantize_blocks(x, "mxfp4", partial="pad")
    padded = np.zeros((3, 64), np.float32)
    padded[:, :40] = x
    assert np.array_equal(found.dequantize(), quantize_blocks(padded, "mxfp4").dequantize()[:, :40])
    assert found.elements.codes.shape == (3, 40)
    assert found.bits_per_value == (64 * 4 + 16) / 40


def test_storage_counts_elements_scales_and_the_tensors_scale() -> None:
    x = np.ones((2, 64), np.float32)
    assert quantize_blocks(x, "mxfp8_e4m3").bits_per_value == 8.25
    assert quantize_blocks(x, "nvfp4").bits_per_value == 4.5 + 32 / 128
    assert quantize_blocks(x, "per_tensor_e4m3").bits_per_value == 8 + 32 / 128


def test_codes_pack_into_torchs_fp4_type_at_four_bits_a_value() -> None:
    if not hasattr(torch, "float4_e2m1fn_x2"):
        pytest.skip("this torch has no float4_e2m1fn_x2")
    codes = quantize_blocks(torch.randn(4, 32), "mxfp4").elements.codes
    packed = (codes[:, ::2] | codes[:, 1::2] << 4).view(torch.float4_e2m1fn_x2)
    assert packed.numel() * packed.element_size() * 8 == 4 * codes.numel()


def test_stochastic_elements_are_neighbours_with_the_right_mean() -> None:
    x = np.full((1, 32 * 1000), 1.2, np.float32)
    x[:, ::32] = 6.0
    found = quantize_blocks(
        x, "mxfp4", mode="stochastic", random_bits=16, generator=np.random.default_rng(13)
    )
    drawn = found.dequantize().reshape(-1, 32)[:, 1:]
    assert set(np.unique(drawn)) == {1.0, 1.5}
    # The mean of n draws from {0, 0.5} has a standard error of 0.25 / sqrt(n) at most.
    assert abs(drawn.mean() - 1.2) < 5 * 0.25 / np.sqrt(drawn.size)


def test_an_amax_from_elsewhere_takes_the_place_of_the_tensors_own() -> None:
    x = np.array([448.0, 896.0, 1.0], np.float32)
    found = quantize_blocks(x, "per_tensor_e4m3", amax=448.0)
    assert found.scales.values == 1.0
    assert found.dequantize().tolist() == [448.0, 448.0, 1.0]
    wide = np.ones((1, 16), np.float32)
    assert quantize_blocks(wide, "nvfp4", amax=5376.0).tensor_scale == 2.0
    with pytest.raises(ValueError, match="mxfp4 scales each block alone"):
        quantize_blocks(np.ones(32, np.float32), "mxfp4", amax=1.0)
    with pytest.raises(ValueError, match="is no magnitude"):
        quantize_blocks(x, "per_tensor", amax=float("nan"))


def test_a_smaller_block_loses_less_to_an_outlier() -> None:
    x = np.random.default_rng(14).standard_normal((1, 512))
    x[0, 100] = 1000.0
    rest = np.arange(512) != 100
    fp4 = {"whole": None, "32": 32, "16": 16}
    error = {
        name: np.abs(
            quantize_blocks(x, BlockScheme(name, E2M1, E8M0, block or 512)).dequantize() - x
        )[0, rest].mean()
        for name, block in fp4.items()
    }
    assert error["whole"] > error["32"] > error["16"]


@pytest.mark.parametrize("shape", [(0,), (0, 32), (3, 0), (2, 0, 32)])
@pytest.mark.parametrize("name", list(SCHEMES))
def test_empty_arrays_stay_empty(name: str, shape: tuple[int, ...]) -> None:
    for x in (np.zeros(shape, np.float32), torch.zeros(shape)):
        found = quantize_blocks(x, name)
        assert tuple(found.dequantize().shape) == shape
        assert np.isnan(found.bits_per_value)


def test_a_single_number_can_be_scaled_per_tensor_but_has_no_axis() -> None:
    assert quantize_blocks(np.float32(3.0).reshape(()), "per_tensor").dequantize() == 3.0
    with pytest.raises(ValueError, match="axis = -1 is none of an array of shape"):
        quantize_blocks(np.zeros((), np.float32), "mxfp4")
    with pytest.raises(ValueError, match="axis = 2 is none"):
        quantize_blocks(np.zeros((32, 32), np.float32), "mxfp4", axis=2)


def test_input_is_left_alone_and_other_types_are_refused() -> None:
    x = np.ones(32, np.float32)
    x.flags.writeable = False
    quantize_blocks(x, "mxfp4")
    leaf = torch.ones(32, requires_grad=True)
    assert not quantize_blocks(leaf, "mxfp4").dequantize().requires_grad
    for bad in (np.ones(32, np.int32), torch.ones(32, dtype=torch.int32), [1.0] * 32):
        with pytest.raises(TypeError):
            quantize_blocks(bad, "mxfp4")


def test_scales_of_e4m3_over_the_same_elements_are_finer_than_powers_of_two() -> None:
    x = np.random.default_rng(15).standard_normal((64, 64)).astype(np.float32)
    fine = BlockScheme("e4m3 over 16", E2M1, E4M3, 16, tensor_scale=True)
    coarse = BlockScheme("e8m0 over 16", E2M1, E8M0, 16)
    errors = [((quantize_blocks(x, s).dequantize() - x) ** 2).mean() for s in (fine, coarse)]
    assert errors[0] < errors[1]
