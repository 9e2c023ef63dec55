"""The examples in the docstrings hold, and importing the package loads neither torch nor numpy."""

from __future__ import annotations

import doctest
import subprocess
import sys
from importlib import import_module

import pytest

pytest.importorskip("torch")


@pytest.mark.parametrize(
    "name", ["amax", "fake_quantization", "linear", "recipe", "stagnation", "transformer"]
)
def test_docstring_examples_hold(name: str) -> None:
    result = doctest.testmod(import_module(f"ampcourse.low_precision.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


def test_importing_the_package_loads_neither_torch_nor_numpy() -> None:
    code = (
        "import sys, ampcourse.low_precision as part\n"
        "part.RECIPES, part.scale_for(1.0), part.AmaxHistory()\n"
        "assert not {'torch', 'numpy'} & set(sys.modules)\n"
        "assert all(hasattr(part, name) for name in part.__all__)\n"
        "import ampcourse.low_precision.fake_quantization\n"
        "assert callable(part.fake_quantize)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = import_module("ampcourse.low_precision").nonsense
