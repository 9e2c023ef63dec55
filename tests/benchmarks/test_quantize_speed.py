"""How fast arrays are rounded, as ratios to what libraries take for the same numbers.

    python -m pytest -m benchmark -s tests/benchmarks/test_quantize_speed.py

One process, one thread, 10^7 float32 numbers with subnormals, zeros and overflows. Every round
times each candidate once, so that what disturbs the machine disturbs all; the table gives
medians and what the issue asked for. It is printed, not asserted.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import pytest

from ampcourse.formats import FORMATS
from ampcourse.quantize import decode_array, encode_array, quantize
from ampcourse.rounding import MODES
from tests.benchmarks.machine import machine

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
ml_dtypes = pytest.importorskip("ml_dtypes")

pytestmark = pytest.mark.benchmark

COUNT = 10_000_000
ROUNDS = 5
Candidates = dict[str, Callable[[], Any]]


@pytest.fixture(scope="module")
def numbers() -> Any:
    """Normal numbers of many exponents; of FP16, 3 % overflow, a third is subnormal or zero."""
    rng = np.random.default_rng(2026)
    x = np.exp2(rng.integers(-30, 18, COUNT)) * rng.uniform(-2, 2, COUNT)
    x[rng.random(COUNT) < 0.05] = 0
    x[rng.random(COUNT) < 0.01] *= 2.0**-110  # FP32's subnormals
    x[rng.random(COUNT) < 0.01] *= 2.0**100  # beyond every narrow format
    return x.astype(np.float32)


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def medians(candidates: Candidates, rounds: int = ROUNDS) -> dict[str, float]:
    """Time all candidates in turn, a first time unmeasured; seconds by name."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for round_number in range(rounds + 1):
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            if round_number:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def show(title: str, rows: list[tuple[str, float, str]]) -> None:
    print(f"\n{title}; {COUNT:.0e} float32, one thread, {machine()}")
    for name, seconds, note in rows:
        print(f"  {name:34} {seconds * 1e3:8.1f} ms  {note}")


def test_fp16_beside_the_casts_of_torch_and_numpy(numbers: Any) -> None:
    tensor = torch.from_numpy(numbers)

    def numpy_round_trip() -> Any:
        with np.errstate(over="ignore"):
            return numbers.astype(np.float16).astype(np.float32)

    took = medians(
        {
            "torch": lambda: tensor.to(torch.float16).to(torch.float32),
            "numpy": numpy_round_trip,
            "quantize, tensor": lambda: quantize(tensor, "fp16"),
            "quantize, array": lambda: quantize(numbers, "fp16"),
        }
    )
    tensor_ratio = took["quantize, tensor"] / took["torch"]
    array_ratio = took["quantize, array"] / took["numpy"]
    show(
        "fp16 round trip",
        [
            ("torch .to(float16).to(float32)", took["torch"], ""),
            ("quantize of the tensor", took["quantize, tensor"], f"{tensor_ratio:.2f}x (aim 2.5)"),
            ("numpy .astype(float16).astype(float32)", took["numpy"], ""),
            ("quantize of the array", took["quantize, array"], f"{array_ratio:.2f}x (aim 1)"),
        ],
    )


def test_every_format_and_mode_beside_fp16(numbers: Any) -> None:
    formats = [name for name in FORMATS if name != "fp64"]
    candidates: Candidates = {
        f"{name} {mode}": lambda name=name, mode=mode: quantize(numbers, name, mode)  # type: ignore[misc]
        for name in formats
        for mode in MODES
    }
    took = medians(candidates, rounds=3)
    reference = took["fp16 nearest_even"]
    print(f"\nquantize, relative to fp16 nearest_even = {reference * 1e3:.1f} ms (aim 2.5)")
    print(f"  {'':6}" + "".join(f"{mode:>14}" for mode in MODES))
    for name in formats:
        row = "".join(f"{took[f'{name} {mode}'] / reference:14.2f}" for mode in MODES)
        print(f"  {name:6}{row}")
    worst = max(took, key=lambda name: took[name])
    print(f"  slowest: {worst}, {took[worst] / reference:.2f}x; {machine()}")


def test_stochastic_rounding_and_its_random_bits(numbers: Any) -> None:
    generator = np.random.default_rng(1)
    took = medians(
        {
            "draw": lambda: generator.integers(0, 1 << 32, COUNT, dtype=np.uint32),
            "nearest": lambda: quantize(numbers, "fp16"),
            "13": lambda: quantize(
                numbers, "fp16", "stochastic", random_bits=13, generator=generator
            ),
            "32": lambda: quantize(numbers, "fp16", "stochastic", generator=generator),
            "bf16": lambda: quantize(numbers, "bf16", "stochastic", generator=generator),
        },
        rounds=3,
    )
    show(
        "stochastic rounding",
        [
            ("random integers alone", took["draw"], ""),
            ("fp16 nearest_even, for comparison", took["nearest"], ""),
            ("fp16, 13 random bits", took["13"], f"{took['13'] / took['nearest']:.2f}x"),
            ("fp16, 32 random bits", took["32"], f"{took['32'] / took['nearest']:.2f}x"),
            ("bf16, 32 random bits", took["bf16"], f"{took['bf16'] / took['nearest']:.2f}x"),
        ],
    )


def test_e4m3_beside_ml_dtypes_and_gfloat(numbers: Any) -> None:
    gfloat = pytest.importorskip("gfloat")
    formats = pytest.importorskip("gfloat.formats")

    def with_ml_dtypes() -> Any:
        with np.errstate(over="ignore"):
            return numbers.astype(ml_dtypes.float8_e4m3fn).astype(np.float32)

    took = medians(
        {
            "ml_dtypes": with_ml_dtypes,
            "codes": lambda: decode_array(encode_array(numbers, "e4m3"), "e4m3"),
            "encode": lambda: encode_array(numbers, "e4m3"),
            "quantize": lambda: quantize(numbers, "e4m3"),
            "gfloat": lambda: gfloat.round_ndarray(formats.format_info_ocp_e4m3, numbers),
        },
        rounds=3,
    )
    show(
        "e4m3",
        [
            ("ml_dtypes, there and back", took["ml_dtypes"], ""),
            (
                "encode_array and decode_array",
                took["codes"],
                f"{took['ml_dtypes'] / took['codes']:.2f} times faster (aim 2.5)",
            ),
            ("encode_array alone", took["encode"], ""),
            ("gfloat round_ndarray", took["gfloat"], ""),
            (
                "quantize",
                took["quantize"],
                f"{took['gfloat'] / took['quantize']:.1f} times faster (aim 8)",
            ),
        ],
    )
