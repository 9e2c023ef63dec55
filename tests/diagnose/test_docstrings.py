"""The examples in the docstrings of diagnose hold."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["op_types"])
def test_docstring_examples_hold(name: str) -> None:
    result = doctest.testmod(import_module(f"ampcourse.diagnose.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
