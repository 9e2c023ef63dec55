"""The examples in the docstrings hold."""

from __future__ import annotations

import doctest
from importlib import import_module

import numpy as np
import pytest


@pytest.mark.parametrize("name", ["values", "codes", "arrays", "straight_through"])
def test_docstring_examples_hold(name: str) -> None:
    pytest.importorskip("torch")
    module = import_module(f"ampcourse.quantize.{name}")
    result = doctest.testmod(module, extraglobs={"np": np})
    assert result.attempted > 0
    assert result.failed == 0
