"""Which values a format holds: the scalar check and its array twin against ml_dtypes casts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ampcourse.formats import get_format
from ampcourse.tensor_core import block_terms
from ampcourse.tensor_core.array_operands import inexact
from ampcourse.tensor_core.operands import is_exact
from tests.tensor_core.draws import DTYPES, any_code


@pytest.mark.parametrize("name", DTYPES)
def test_exact_is_what_a_cast_to_the_format_leaves_alone(name: str) -> None:
    rng = np.random.default_rng(len(name))
    held = any_code(rng, (300,), name)
    below = np.nextafter(np.nan_to_num(held), 0.0)
    others = rng.standard_normal(300) * 2.0 ** rng.integers(-30, 20, 300)
    coarse = np.ldexp(rng.integers(-16, 17, 300), rng.integers(-160, 140, 300)).astype(float)
    edges = [0.0, -0.0, math.inf, -math.inf, math.nan, 2.0**17, -512.0, 464.0, 480.0, 2.0**128]
    values = np.concatenate([held, below, others, coarse, edges])
    with np.errstate(over="ignore", invalid="ignore"):
        cast = values.astype(DTYPES[name]).astype(np.float64)
    wanted = (cast == values) | np.isnan(values)
    assert 300 < wanted.sum() < len(values) - 300
    assert [is_exact(x, name) for x in values.tolist()] == wanted.tolist()
    assert np.array_equal(~inexact(values, get_format(name)), wanted)


def test_tf32_holds_10_fraction_bits_of_float32() -> None:
    for x, exact in ((1 + 2.0**-10, True), (1 + 2.0**-11, False), (2.0**-136, True)):
        assert is_exact(x, "tf32") == exact
        assert bool(inexact(np.array([x]), get_format("tf32"))[0]) != exact
    assert not is_exact(2.0**-137, "tf32")
    assert not is_exact(2.0**128, "tf32")


def test_what_is_too_large_is_said_to_be() -> None:
    words = r"b\[0\] = 131072\.0 is not exact in fp16, whose largest number is 65504; scale it"
    with pytest.raises(ValueError, match=words):
        block_terms([1.0], [131072.0])
    with pytest.raises(ValueError, match="which has no infinity; its largest number is 448"):
        block_terms([math.inf], [1.0], input_format="e4m3")
