"""The examples in the docstrings of the Tensor Core modules hold."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    "name", ["configurations", "operands", "reference", "arrays", "accumulate", "throughput"]
)
def test_docstring_examples_hold(name: str) -> None:
    result = doctest.testmod(import_module(f"ampcourse.tensor_core.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
