"""The examples in the docstrings of the formats core hold."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    "name",
    ["formats", "rounding", "decode", "encode", "number_text", "operand", "neighbours"],
)
def test_docstring_examples_hold(name: str) -> None:
    result = doctest.testmod(import_module(f"ampcourse.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
