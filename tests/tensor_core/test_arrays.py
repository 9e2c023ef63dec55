"""mma and gemm: shapes, kinds of arrays, padding, tiles, progress and errors."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ampcourse.tensor_core import arrays, dot_product, gemm, mma, to_tf32


def fp16(rng: np.random.Generator, *shape: int) -> NDArray[np.float16]:
    return rng.standard_normal(shape).astype(np.float16)


def bits(x: Any) -> NDArray[np.uint32]:
    return np.asarray(x, np.float32).view(np.uint32)


def test_mma_broadcasts_the_axes_before_the_last() -> None:
    rng = np.random.default_rng(1)
    a, b, c = fp16(rng, 3, 1, 21), fp16(rng, 5, 21), fp16(rng, 3, 1)
    got = mma(a, b, c, gpu="A100")
    assert got.shape == (3, 5)
    assert got.dtype == np.float32
    for i in range(3):
        for j in range(5):
            alone = mma(a[i, 0], b[j], c[i, 0], gpu="A100")
            assert bits(got[i, j]) == bits(alone)


def test_mma_of_two_vectors_is_one_float32() -> None:
    got = mma([1.0, 2.0], [3.0, 4.0], 5)
    assert isinstance(got, np.float32)
    assert got == 16


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 70, 5), (300, 9, 270), (2, 33, 600)])
@pytest.mark.parametrize("gpu", ["V100", "H100"])
def test_gemm_has_the_elements_of_mma(shape: tuple[int, int, int], gpu: str) -> None:
    m, k, n = shape
    rng = np.random.default_rng(2)
    A, B, C = fp16(rng, m, k), fp16(rng, k, n), rng.standard_normal((m, n)).astype(np.float32)
    wanted = mma(A[:, None, :], B.T[None, :, :], C, gpu=gpu)
    assert np.array_equal(bits(gemm(A, B, C, gpu=gpu)), bits(wanted))
    without = mma(A[:, None, :], B.T[None, :, :], gpu=gpu)
    assert np.array_equal(bits(gemm(A, B, gpu=gpu)), bits(without))


def test_more_sums_than_are_worked_on_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    a, b = fp16(rng, 50, 8), fp16(rng, 50, 8)
    whole = mma(a, b)
    monkeypatch.setattr(arrays, "_SUMS", 24)
    assert np.array_equal(bits(mma(a, b)), bits(whole))


def test_infinities_take_another_path_to_the_same_sums() -> None:
    # One infinity makes a whole tile use float64; its other elements must not change.
    rng = np.random.default_rng(4)
    A, B = fp16(rng, 20, 40), fp16(rng, 40, 20)
    finite = gemm(A, B, gpu="A100")
    A[3, 7] = np.inf
    got = gemm(A, B, gpu="A100")
    others = np.arange(20) != 3
    assert np.array_equal(bits(got[others]), bits(finite[others]))
    assert not np.isfinite(got[3]).any()


def test_extreme_blocks_do_not_disturb_others_in_the_tile() -> None:
    # Zeros, a huge and a subnormal C lead to the rare cases; every sum must stay its own.
    rng = np.random.default_rng(5)
    a, b = fp16(rng, 40, 16), fp16(rng, 40, 16)
    c = rng.standard_normal(40).astype(np.float32)
    a[3] = 0
    c[3], c[5], c[7], c[9] = 2.0**-149, 3e38, -math.inf, 0
    for gpu in ("V100", "H100"):
        rows = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
        alone = [dot_product(x, y, z, gpu) for x, y, z in rows]
        assert np.array_equal(bits(mma(a, b, c, gpu=gpu)), bits(alone))


def test_the_largest_sums_do_not_wrap() -> None:
    # All significands near 4 and one sign: 16 products fill 31 bits, 32 of e4m3 on B200 33 bits.
    x, y = np.full(16, 2 - 2.0**-10), np.full(32, 1.875)
    for sign in (1, -1):
        got = mma(x, sign * x, sign * 1.5, gpu="H100")
        assert got == dot_product(x.tolist(), (sign * x).tolist(), sign * 1.5, "H100")
        got = mma(y, sign * y, sign * 1.5, gpu="B200", input_format="e4m3")
        assert got == sign * (32 * 1.875**2 + 1.5)


def test_tensors_come_back_as_tensors() -> None:
    torch = pytest.importorskip("torch", reason="tensors need torch (the lab extra)")
    rng = np.random.default_rng(6)
    A, B = fp16(rng, 4, 16), fp16(rng, 16, 3)
    wanted = gemm(A, B)
    for left in (torch.from_numpy(A), torch.from_numpy(A).float().requires_grad_()):
        got = gemm(left, torch.from_numpy(B))
        assert got.dtype is torch.float32
        assert np.array_equal(bits(got.numpy()), bits(wanted))
    assert torch.is_tensor(mma(torch.tensor([1.0]), [1.0]))
    narrow = torch.tensor([1.5, 448.0]).to(torch.float8_e4m3fn)
    assert mma(narrow, narrow, input_format="e4m3").item() == 448.0**2  # 14 bits lose 2.25
    brain = torch.tensor([1.5, -3.0]).bfloat16()
    assert mma(brain, brain, input_format="bf16").item() == 11.25
    assert to_tf32(torch.tensor([1 + 2.0**-11])).tolist() == [1.0]
    with pytest.raises(ValueError, match=r"a is on meta.*a\.cpu\(\)"):
        mma(torch.ones(4, device="meta"), torch.ones(4))


def test_numpy_float64_and_ml_dtypes_arrays_are_read() -> None:
    import ml_dtypes

    a = np.array([1.5, 2.0], ml_dtypes.bfloat16)
    assert mma(a, a.astype(np.float64), input_format="bf16") == 6.25


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mma([1.0, 0.1], [1.0, 1.0]), "a[1] = 0.1 is not exact in fp16, whose nearest"),
        (lambda: mma([1.0], [70000.0]), "b[0] = 70000.0 is not exact in fp16, whose largest"),
        (lambda: mma([1.0], [1.0], 1e-3), "c = 0.001 is not exact in fp32"),
        (lambda: mma([1.0], [1.0], [[0.0, 0.1]]), "c[0, 1] = 0.1 is not exact in fp32"),
        (
            lambda: mma([1.0], [1.0], 2049.0, output_format="fp16"),
            "c = 2049.0 is not exact",
        ),
        (lambda: mma([2.0**-25], [1.0]), "a[0] = 2.9802322387695312e-08 is not exact in fp16"),
        (lambda: mma([1 + 2.0**-11], [1.0], input_format="tf32"), "to_tf32(a) to drop 13 bits"),
        (lambda: mma([math.inf], [1.0], input_format="e4m3"), "a[0] = inf is not exact in e4m3"),
        (lambda: mma([1.0] * 3, [1.0] * 4), "a has shape (3,) and b (4,)"),
        (lambda: mma(1.0, 1.0), "a has shape () and b ()"),
        (lambda: mma([], []), "at least 1"),
        (lambda: mma([[1.0]] * 2, [[1.0]] * 3), "do not broadcast"),
        (lambda: gemm([[1.0]], [[1.0]] * 2), "they must be (m, k) and (k, n)"),
        (lambda: gemm([1.0], [1.0]), "they must be (m, k) and (k, n)"),
        (lambda: gemm([[1.0]], [[1.0]], [1.0]), "C has shape (1,); it must be (1, 1)"),
        (lambda: gemm([[0.1]], [[1.0]]), "A[0, 0] = 0.1 is not exact in fp16"),
        (lambda: gemm([[1.0]], [[1.0]], gpu="V100", input_format="bf16"), "V100 has no Tensor"),
        (lambda: dot_product([0.1], [1.0]), "a[0] = 0.1 is not exact in fp16"),
        (lambda: dot_product([1.0], []), "a has 1 values and b has 0"),
        (lambda: dot_product([1.0], [1.0], 0.1), "c = 0.1 is not exact in fp32"),
    ],
)
def test_what_does_not_fit_is_named(call: Any, words: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize("wrong", [[True], ["1"], [1j], [None]])
def test_what_is_no_number_is_refused(wrong: list[Any]) -> None:
    with pytest.raises(TypeError, match="a has dtype"):
        mma(wrong, [1.0])


def test_a_nan_of_any_payload_is_taken() -> None:
    nan = np.array([0x7FFFFFFF, 0xFF800001], np.uint32).view(np.float32)
    for fmt in ("fp16", "bf16", "tf32", "e4m3"):
        assert bits(mma(nan, [1.0, 1.0], input_format=fmt)) == 0x7FFFFFFF
    assert bits(mma([1.0], [1.0], nan, output_format="fp16")).tolist() == [0x7FFFE000] * 2


def test_to_tf32_drops_the_low_13_bits() -> None:
    codes = np.random.default_rng(7).integers(0, 1 << 32, 10_000, dtype=np.uint64)
    x = codes.astype(np.uint32).view(np.float32)
    x = x[np.isfinite(x)]
    assert np.array_equal(bits(to_tf32(x)), bits(x) >> 13 << 13)
    assert to_tf32([1.0, -math.inf]).tolist() == [1.0, -math.inf]
    assert np.isnan(to_tf32([math.nan])).all()
    with pytest.raises(ValueError, match=r"x = 0\.1 is not exact in fp32"):
        to_tf32(0.1)


def test_a_long_gemm_shows_progress_and_a_short_one_does_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tqdm", reason="progress is shown with tqdm (the lab extra)")
    A = np.ones((2, 8))
    gemm(A, A.T)
    assert capsys.readouterr().err == ""
    gemm(A, A.T, progress=True)
    assert "gemm 2 x 2" in capsys.readouterr().err
    monkeypatch.setattr(arrays, "_LONG", 32)
    gemm(A, A.T)
    assert "gemm 2 x 2" in capsys.readouterr().err
    gemm(A, A.T, progress=False)
    assert capsys.readouterr().err == ""


def test_an_interrupt_ends_a_gemm(monkeypatch: pytest.MonkeyPatch) -> None:
    done = []

    def chain(*_: object) -> None:
        done.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(arrays, "_chain", chain)
    A = np.ones((600, 8))
    with pytest.raises(KeyboardInterrupt):
        gemm(A, A.T)
    assert len(done) == 1


def test_the_scalar_part_loads_no_numpy() -> None:
    code = (
        "from ampcourse.tensor_core import block_terms, configuration\n"
        "from ampcourse.tensor_core.throughput import peak_tflops\n"
        "import sys\n"
        "assert not {'numpy', 'torch', 'tqdm'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
