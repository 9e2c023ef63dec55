"""The examples in the docstrings of the memory package and of the roofline hold."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = (
    "memory.ledger",
    "memory.division",
    "memory.moments",
    "memory.literature",
    "memory.shards",
    "memory.activations",
    "memory.peak",
    "benchmark.devices",
)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_hold(name: str) -> None:
    result = doctest.testmod(import_module(f"ampcourse.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
