"""What may go in, what comes out: dtypes, shapes, memory, devices and refusals."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ampcourse.encode import encode
from ampcourse.formats import FORMATS, FP16, FloatFormat, ieee_like
from ampcourse.quantize import decode_array, encode_array, quantize
from ampcourse.quantize import pieces as pieces_module
from tests.quantize.exact_oracle import rounded
from tests.quantize.points import bits, random_patterns

ROOT = Path(__file__).parents[2]
NUMBERS = [0.1, -0.0, 65519.0, 65520.0, 1e-8, -3e-5, math.inf, -math.inf, math.nan]


def kinds() -> list[Any]:
    """float32 arrays of every kind there is here."""
    return [pytest.param(np.asarray, id="numpy"), pytest.param(as_tensor, id="torch")]


def as_tensor(x: Any) -> Any:
    return pytest.importorskip("torch").from_numpy(x.copy())


ANY_KIND = pytest.mark.parametrize("kind", kinds())


def float32(values: Any = NUMBERS) -> Any:
    return np.array(values, np.float32)


@ANY_KIND
@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (2, 3, 4)])
def test_the_shape_stays(kind: Any, shape: tuple[int, ...]) -> None:
    x = kind(np.full(shape, 0.1, np.float32))
    for result in (quantize(x, "fp16"), encode_array(x, "fp16")):
        assert type(result) is type(x)
        assert tuple(result.shape) == shape
    codes = encode_array(x, "fp16")
    assert tuple(decode_array(codes, "fp16").shape) == shape
    if math.prod(shape):
        assert set(np.asarray(codes).ravel().tolist()) == {0x2E66}


@ANY_KIND
def test_strides_do_not_matter_and_the_result_is_contiguous(kind: Any) -> None:
    base = float32(random_patterns(4 * 6 * 5, "float32", 1, nans=False)[:60].reshape(3, 4, 5))
    with np.errstate(over="ignore"):
        wanted = rounded(base, FP16).astype(np.float32)
    for view in (
        lambda x: x.swapaxes(0, 2),
        lambda x: x[::2, 1:, ::3],
        lambda x: x[:, 2],
    ):
        found = quantize(view(kind(base)), "fp16")
        assert (bits(np.ascontiguousarray(np.asarray(found))) == bits(view(wanted).copy())).all()
    assert quantize(base[::-1, ::-1], "fp16").flags.c_contiguous


def test_expanded_and_conjugate_tensors_are_read_as_they_look() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([0.1]).expand(2, 3)
    assert quantize(x, "e4m3").tolist() == [[0.1015625] * 3] * 2
    imaginary = torch.tensor([1 + 0.1j]).conj().imag
    assert imaginary.is_neg()
    assert quantize(imaginary, "e4m3").tolist() == [-0.1015625]


@ANY_KIND
def test_the_input_is_neither_changed_nor_shared(kind: Any) -> None:
    for fmt in ("fp16", "bf16", "fp32"):  # fp32 changes nothing, which tempts to share
        x = kind(float32())
        before = bits(np.asarray(x)).copy()
        result = quantize(x, fmt)
        result[:] = 7
        assert (bits(np.asarray(x)) == before).all()


def test_read_only_and_byte_swapped_and_unaligned_arrays_are_read() -> None:
    x = float32([0.1, 1e9])
    x.flags.writeable = False
    assert encode_array(x, "fp16").tolist() == [0x2E66, 0x7C00]
    swapped = x.astype(">f4")
    result = quantize(swapped, "fp16")
    assert result.dtype == swapped.dtype
    assert result.tolist() == quantize(x, "fp16").tolist()
    packed = np.zeros(2, np.dtype([("flag", "i1"), ("x", "f4")]))
    packed["x"] = x
    assert encode_array(packed["x"], "fp16").tolist() == [0x2E66, 0x7C00]


def test_large_arrays_are_the_same_as_their_pieces() -> None:
    length = 2 * pieces_module._CACHE_PIECE + 3
    x = random_patterns(length, "float32", 9)
    with np.errstate(invalid="ignore"):
        assert (bits(quantize(x, "e4m3").astype("f8")) == bits(rounded(x, FORMATS["e4m3"]))).all()
    assert encode_array(x, "e4m3")[-5:].tolist() == encode_array(x[-5:], "e4m3").tolist()


def test_numpy_scalars_come_back_as_scalars() -> None:
    assert type(quantize(np.float32(0.1), "fp16")) is np.float32
    assert encode_array(np.float64(0.1), "fp16") == 0x2E66
    assert decode_array(np.uint8(0x7E), "e4m3") == 448


def half_types() -> list[tuple[str, FloatFormat]]:
    return [("float16", FORMATS["fp16"]), ("bfloat16", FORMATS["bf16"])]


@pytest.mark.parametrize(("dtype", "own"), half_types())
@pytest.mark.parametrize("name", ["e5m2", "e4m3", "e3m2", "e2m1", "fp16", "bf16", "fp32", "fp64"])
def test_every_number_of_a_half_width_type_rounds_right(
    dtype: str, own: FloatFormat, name: str
) -> None:
    fmt = FORMATS[name]
    numbers = decode_array(np.arange(1 << 16), own)
    numbers = numbers[np.isfinite(numbers)]
    # What lies beyond the type is in the next test.
    wanted = rounded(numbers, fmt)
    wide = np.abs(wanted) > float(own.max)
    numbers, wanted = numbers[~(wide & np.isfinite(wanted))], wanted[~(wide & np.isfinite(wanted))]
    for x in halves(numbers, dtype):
        result = quantize(x, fmt)
        assert result.dtype == x.dtype
        back = np.asarray(result.double() if hasattr(result, "double") else result.astype("f8"))
        assert (bits(back) == bits(wanted)).all()


def halves(numbers: Any, dtype: str) -> list[Any]:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    torch = pytest.importorskip("torch")
    numpy_dtype = np.float16 if dtype == "float16" else ml_dtypes.bfloat16
    return [numbers.astype(numpy_dtype), torch.from_numpy(numbers).to(getattr(torch, dtype))]


def test_a_result_that_the_dtype_lacks_is_refused_and_named() -> None:
    for x in halves(np.array([1, 65504], np.float32), "float16"):
        with pytest.raises(ValueError, match=r"65504.0 rounds to 65536.0 in bf16, which float16"):
            quantize(x, "bf16")
        assert encode_array(x, "bf16").tolist() == [0x3F80, 0x4780]
    for x in halves(np.array([1e9], np.float32), "bfloat16"):
        with pytest.raises(ValueError, match=r"to 65504.0 in fp16, which bfloat16 does not have"):
            quantize(x, "fp16", overflow="saturate")
    near_top = np.array([3.4028235e38], np.float32)
    with pytest.raises(ValueError, match="which float32 does not have"):
        quantize(near_top, ieee_like(9, 10))
    assert quantize(near_top.astype(np.float64), ieee_like(9, 10)).tolist() == [2.0**128]


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.array([1, 2]), "cannot round int64 numbers; the input is float16"),
        (np.array([True]), "cannot round bool numbers"),
        (np.array([1j]), "cannot round complex128 numbers"),
        (np.array(["1.5"]), "cannot round str"),
        (np.array([1.5], object), "cannot round object numbers"),
        (np.array([1.5], np.longdouble), "cannot round (longdouble|float128|float96) numbers"),
        ([1.5], "cannot round a list; arrays are numpy arrays or torch tensors"),
        (1.5, "cannot round a float"),
        (None, "cannot round a NoneType"),
    ],
    ids=str,
)
def test_other_input_is_refused(x: Any, message: str) -> None:
    for function in (quantize, encode_array):
        with pytest.raises(TypeError, match=message):
            function(x, "fp16")


def test_other_tensors_are_refused() -> None:
    torch = pytest.importorskip("torch")
    for x in (
        torch.tensor([1]),
        torch.tensor([True]),
        torch.tensor([1j]),
        torch.zeros(2).to(torch.float8_e4m3fn),
        torch.zeros(2).to_sparse(),
        torch.zeros(2, device="meta"),
    ):
        with pytest.raises(TypeError, match="cannot round"):
            quantize(x, "fp16")


@ANY_KIND
def test_unknown_names_get_a_suggestion(kind: Any) -> None:
    x = kind(float32())
    for function in (quantize, encode_array):
        with pytest.raises(ValueError, match="unknown format 'fp17'; did you mean"):
            function(x, "fp17")
        with pytest.raises(ValueError, match="did you mean 'toward_zero'"):
            function(x, "fp16", "towards_zero")
        with pytest.raises(ValueError, match="unknown overflow 'clip'"):
            function(x, "fp16", overflow="clip")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="a format is a FloatFormat or a name"):
            function(x, 16)  # type: ignore[arg-type]


@ANY_KIND
def test_a_format_without_nan_says_so(kind: Any) -> None:
    with pytest.raises(ValueError, match="e2m1 has no code for NaN; only numbers"):
        quantize(kind(float32([1.0, math.nan])), "e2m1")
    with pytest.raises(ValueError, match="neither infinity nor NaN; use overflow="):
        quantize(kind(float32([1.0, 7.5])), "e2m1", overflow="infinity")
    assert quantize(kind(float32([1.0, 6.5])), "e2m1", overflow="infinity").tolist() == [1, 6]
    assert quantize(kind(float32([math.inf, 7.5])), "e2m1").tolist() == [6, 6]


def test_a_format_out_of_reach_is_refused() -> None:
    far = FloatFormat("far", 4, 3, bias=-100)
    with pytest.raises(ValueError, match="reaches beyond what FP64 arithmetic rounds exactly"):
        quantize(np.ones(3), far)


@ANY_KIND
def test_nan_keeps_its_sign_and_loses_its_payload(kind: Any) -> None:
    patterns = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF, 0x7FBFFFFF], np.uint32)
    x = kind(patterns.view(np.float32))
    signs = [0, 1, 0, 1, 0]
    assert encode_array(x, "fp16").tolist() == [0x8000 * sign | 0x7E00 for sign in signs]
    assert encode_array(x, "e8m0").tolist() == [0xFF] * 5
    for fmt in ("fp16", "bf16", "e4m3", "fp32"):
        found = bits(np.asarray(quantize(x, fmt)))
        assert found.tolist() == [sign << 31 | 0x7FC00000 for sign in signs]


def test_codes_come_in_the_smallest_unsigned_dtype() -> None:
    widths = {"e2m1": 8, "e8m0": 8, "e4m3": 8, "fp16": 16, "bf16": 16, "tf32": 32, "fp32": 32}
    widths |= {"fp64": 64}
    for name, width in widths.items():
        codes = (
            encode_array(np.array([-1.5]), name)
            if name != "e8m0"
            else encode_array(np.array([1.5]), name)
        )
        assert codes.dtype == np.dtype(f"uint{width}")
        assert codes.tolist() == [encode(1.5 if name == "e8m0" else -1.5, name)]


def test_torch_codes_can_be_viewed_as_the_type_they_encode() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([0.1, -65504.0, 1e-7])
    for name in ("fp16", "bf16", "fp32", "e5m2"):
        dtype = getattr(torch, FORMATS[name].library_name)
        assert torch.equal(encode_array(x, name).view(dtype).float(), x.to(dtype).float())


@ANY_KIND
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.int64, np.uint16, np.uint32])
def test_codes_of_any_integer_dtype_are_decoded(kind: Any, dtype: Any) -> None:
    codes = kind(np.array([0x01, 0x7E, 0x38], dtype))
    assert decode_array(codes, "e4m3").tolist() == [2**-9, 448, 1]
    assert decode_array(codes, "tf32").tolist()[0] == 2**-136


@ANY_KIND
def test_decoding_chooses_a_dtype_that_holds_the_values_or_takes_one_that_does(kind: Any) -> None:
    codes = kind(np.array([1], np.int64))
    for name, dtype in (("e4m3", "float32"), ("fp32", "float32"), ("fp64", "float64")):
        assert str(decode_array(codes, name).dtype).endswith(dtype)
    assert str(decode_array(codes, "e4m3", "float16").dtype).endswith("float16")
    with pytest.raises(ValueError, match="float16 does not hold every value of bf16; these do"):
        decode_array(codes, "bf16", "float16")
    with pytest.raises(ValueError, match="int32 does not hold"):
        decode_array(codes, "e4m3", "int32")


def test_decoding_takes_dtypes_of_the_libraries() -> None:
    torch = pytest.importorskip("torch")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert decode_array(np.array([1]), "e4m3", np.float64).dtype == np.float64
    assert decode_array(np.array([1]), "e4m3", ml_dtypes.bfloat16).dtype == ml_dtypes.bfloat16
    assert decode_array(torch.tensor([1]), "e4m3", torch.bfloat16).dtype == torch.bfloat16


@ANY_KIND
def test_codes_out_of_range_and_non_codes_are_refused(kind: Any) -> None:
    for codes, name in (([256], "e4m3"), ([-1], "e4m3"), ([16], "e2m1"), ([1 << 19], "tf32")):
        with pytest.raises(ValueError, match=f"is out of range; {name} has codes 0 to"):
            decode_array(kind(np.array(codes)), name)
    with pytest.raises(ValueError, match="code 0x10 is out of range"):
        decode_array(kind(np.array([16], np.uint8)), "e2m1")
    with pytest.raises(TypeError, match="codes are integers, not float32"):
        decode_array(kind(float32([1])), "e4m3")
    with pytest.raises(TypeError, match="codes are integers, not bool"):
        decode_array(kind(np.array([True])), "e4m3")


def test_lists_are_no_codes() -> None:
    with pytest.raises(TypeError, match="cannot decode a list; arrays are"):
        decode_array([1, 2], "e4m3")


def test_flushing_of_subnormals_by_the_processor_changes_nothing_and_stays_on() -> None:
    torch = pytest.importorskip("torch")
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush subnormals")
    try:
        x = np.array([1, 0x7FFFFF, 0x400000], np.uint32).view(np.float32)
        assert encode_array(x, "fp16", "up").tolist() == [1, 1, 1]
        assert encode_array(x, "bf16").tolist() == [0, 0x80, 0x40]
        assert encode_array(x, ieee_like(9, 6)).tolist() != [0, 0, 0]
        assert (np.array([1e-40], np.float32) * np.float32(1))[0] == 0
        decoded = decode_array(np.array([1, 0x8001]), "bf16", "float64")
        assert bits(decoded).tolist() == [0x37A0000000000000, 0xB7A0000000000000]
    finally:
        torch.set_flush_denormal(False)


def test_no_warning_reaches_the_caller() -> None:
    import warnings

    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        x = random_patterns(5000, "float32", 12)
        for fmt in ("fp16", "bf16", "e8m0", "fp64"):
            quantize(x, fmt) if fmt != "fp64" else encode_array(x, fmt)
        quantize(random_patterns(500, "float64", 12), "fp16")
        quantize(np.arange(1 << 12, dtype=np.uint16).view(np.float16), "e4m3")


@pytest.mark.gpu
def test_a_gpu_gives_the_same_bits_and_keeps_the_result() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    numbers = torch.from_numpy(random_patterns(20_000, "float32", 1))
    for name in ("fp16", "bf16", "e4m3", "e8m0", "tf32"):
        for x in (numbers, numbers.double()):
            codes = encode_array(x.cuda(), name)
            assert codes.is_cuda
            assert codes.cpu().tolist() == encode_array(x, name).tolist()
            values = quantize(x.cuda(), name)
            assert values.is_cuda
            assert (bits(values.cpu().numpy()) == bits(quantize(x, name).numpy())).all()
            decoded = decode_array(codes, name).cpu().numpy()
            assert (bits(decoded) == bits(decode_array(codes.cpu(), name).numpy())).all()
    generator = torch.Generator("cuda").manual_seed(1)
    stochastic = quantize(numbers.cuda(), "e5m2", "stochastic", generator=generator)
    assert stochastic.is_cuda


def test_importing_the_package_does_not_load_torch() -> None:
    code = "import sys, ampcourse.quantize as q, numpy as n; q.quantize(n.ones(3), 'e4m3')"
    command = [sys.executable, "-c", f"{code}; print('torch' in sys.modules)"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "False"
