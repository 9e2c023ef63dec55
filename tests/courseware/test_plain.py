"""Plain data: what travels, what is refused, and when two values count as the same."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ampcourse.courseware.agent import Encoder, NotPlain, evaluate
from ampcourse.courseware.matchers import between, number, one_of, raises, ulps
from ampcourse.courseware.plain import encode, equal, show, valid

SAMPLES: list[Any] = [
    None, True, False, 0, 1, -1, 10**400, 0.0, -0.0, 1.0, math.inf, math.nan, 5e-324, "", "é",
    b"\x00\xff", 1 + 2j, Fraction(-1, 3), [], [1, [2.0]], (), (1,), {"a": [1]}, {1: 2},
    np.zeros((2, 3), np.float16), np.float32(1.5), np.array([math.nan]), np.bool_(True),
]  # fmt: skip


@pytest.mark.parametrize("value", SAMPLES, ids=repr)
def test_a_value_equals_itself_and_its_tree_is_valid(value: Any) -> None:
    assert valid(encode(value))
    assert equal(encode(value), encode(value))
    assert show(encode(value))


def test_no_two_different_samples_are_equal_but_numpy_scalars() -> None:
    trees = [encode(value) for value in SAMPLES]
    same = {(a, b) for a in range(len(trees)) for b in range(a) if equal(trees[b], trees[a])}
    kinds = {(str(SAMPLES[a]), str(SAMPLES[b])) for a, b in same}
    assert kinds == {("True", "True")}  # numpy's True counts as Python's


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (0.0, -0.0),
        (1, 1.0),
        (True, 1),
        ([1], (1,)),
        ("1", 1),
        (np.float32(1), np.array(1, np.float32)),
        (np.zeros(2, np.float16), np.zeros(2, np.float32)),
        (np.zeros((1, 2)), np.zeros((2, 1))),
        (np.array([0.0]), np.array([-0.0])),
        (1.5, np.float32(1.25)),
    ],
)
def test_bits_type_dtype_and_shape_count(one: Any, two: Any) -> None:
    assert not equal(encode(one), encode(two))


def test_any_nan_equals_any_nan_inside_arrays_and_out() -> None:
    payload = np.array([0x7E01, 0xFE00], np.uint16).view(np.float16)
    assert equal(encode(np.full(2, math.nan, np.float16)), encode(payload))
    assert equal(encode(math.nan), encode(-math.nan))


def test_a_numpy_scalar_counts_as_the_number_of_its_kind() -> None:
    assert equal(encode(0.5), encode(np.float16(0.5)))
    assert equal(encode(3), encode(np.int8(3)))
    assert not equal(encode(3.0), encode(np.int8(3)))


def test_the_order_of_a_dict_does_not_count() -> None:
    assert equal(encode({"a": 1, "b": 2}), encode({"b": 2, "a": 1}))


class Liar(float):
    """A subclass that would report another value."""

    def hex(self) -> str:
        return (2.0).hex()


@pytest.mark.parametrize("value", [Liar(1), Decimal(1), object(), np.array([object()]), len, {1}])
def test_other_types_and_subclasses_are_refused(value: Any) -> None:
    with pytest.raises(NotPlain, match="type"):
        Encoder().encode(value)


def test_a_list_that_holds_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(NotPlain, match="deep"):
        encode(endless)


def test_a_result_of_too_many_items_or_bytes_is_refused() -> None:
    with pytest.raises(NotPlain, match="items"):
        encode([0] * 300_000)
    with pytest.raises(NotPlain, match="MB"):
        encode(b"x" * 40_000_000)


@pytest.mark.parametrize(
    "forged",
    [
        [], ["int"], ["int", 7], ["int", "0xg"], ["float", "two"], ["float", 2.0], ["bool", 1],
        ["list", [1]], ["list"], ["dict", [[["none"]]]], ["array", "numpy", "float16", [1], "!"],
        ["fraction", ["int", "0x1"], ["int", "0x0"]], ["scalar", "float32", "AA=="], {}, "int",
        ["fraction", ["str", "x"], ["int", "0x1"]], ["fraction", ["int", "0x1"], ["int", "0x00"]],
        ["float", "0x1p99999"], ["nonsense", 1], [["int", "0x1"]], None, ["str", 3],
        ["bytes", "xyz"],
    ],
)  # fmt: skip
def test_a_forged_tree_is_no_value(forged: Any) -> None:
    assert not valid(forged)


def test_torch_tensors_travel_with_dtype_shape_and_bits() -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    tensor = torch.tensor([[1.5, -0.0]], dtype=torch.bfloat16)
    assert equal(encode(tensor), encode(tensor.clone()))
    assert not equal(encode(tensor), encode(tensor.half()))
    assert not equal(encode(tensor.float()), encode(tensor.float().numpy()))


def test_bfloat16_is_shown_as_numbers() -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    values = torch.tensor([1.5, -0.0, 2**-133, math.inf, *[3.0] * 5], dtype=torch.bfloat16)
    smallest = repr(2.0**-133)
    head = f"[1.5, -0.0, {smallest}, inf, 3.0, 3.0, 3.0, 3.0, …]"
    assert show(encode(values)) == f"torch bfloat16 array of shape (9,) {head}"


def test_between_refuses_nan_booleans_and_other_types() -> None:
    accepts = between(0, 1).accepts
    values = [0, 1.0, Fraction(1, 2), np.float32(0.5), True, math.nan, 1.1, "0", None]
    outcomes = [accepts(evaluate("value", {"value": value})) for value in values]
    assert outcomes == [True] * 4 + [False] * 5


def test_ulps_counts_doubles_and_the_sign() -> None:
    accepts = ulps(1.0, 1).accepts
    values = [1.0, math.nextafter(1, 2), math.nextafter(1, 0), 1.0000000000000004, -1.0, math.nan]
    outcomes = [accepts(evaluate("value", {"value": value})) for value in values]
    assert outcomes == [True, True, True, False, False, False]
    assert not ulps(0.0, 5).accepts({"value": encode(-0.0)})


def test_number_takes_any_type_but_booleans_and_nan() -> None:
    values = [1, 1.0, Fraction(1), np.float16(1), np.int8(1), True, 2, math.nan, "1", None, [1]]
    outcomes = [number(1).accepts(evaluate("value", {"value": value})) for value in values]
    assert outcomes == [True] * 5 + [False] * 6
    assert not number(math.nan).accepts({"value": encode(math.nan)})


def test_one_of_and_raises_accept_what_they_name() -> None:
    assert one_of(1, "a").accepts({"value": encode("a")})
    assert not one_of(1, "a").accepts({"value": encode(1.0)})
    assert raises(ValueError).accepts(evaluate("int('x')", {}))
    assert raises(ArithmeticError).accepts(evaluate("1 / 0", {}))
    assert not raises(ValueError).accepts(evaluate("1 / 0", {}))
    assert not raises(ValueError).accepts({"value": encode(1)})


def test_a_scenario_is_a_function_body() -> None:
    assert evaluate("a = start\nreturn a + 1", {"start": 1}) == {"value": ["int", "0x2"]}


def test_huge_numbers_are_shown_without_trouble() -> None:
    assert show(encode(1 << 100_000)).startswith("0x1000")
    assert "bits" in show(encode(Fraction(1, 3**9000)))
    assert "bits" in show(encode(Fraction(10**9000, 3**9000)))
    assert "bits" in show(encode(Fraction(-(7**9000), 2)))
