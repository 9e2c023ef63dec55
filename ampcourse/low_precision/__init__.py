"""Training below 16 bits, emulated: FP8, MXFP8, MXFP4 and NVFP4 products on any device.

``amax`` has the scales, ``recipe`` says which tensor gets which format, ``fake_quantization``
rounds a tensor, ``quantizer`` keeps what belongs to one operand, ``linear`` is a layer that rounds
forward and backward. On top of them: ``transformer`` (a net for FashionMNIST), ``curves`` (train
it, or read recorded trainings) and ``stagnation`` (what becomes of small updates in BF16).
torch is loaded only where it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ampcourse.low_precision.amax import AmaxHistory, scale_for
from ampcourse.low_precision.recipe import RECIPES, Recipe, get_recipe

if TYPE_CHECKING:
    from ampcourse.low_precision.fake_quantization import fake_quantize
    from ampcourse.low_precision.linear import QuantizedLinear, convert

__all__ = [
    "RECIPES",
    "AmaxHistory",
    "QuantizedLinear",
    "Recipe",
    "convert",
    "fake_quantize",
    "get_recipe",
    "scale_for",
]

_NEED_TORCH = {
    "fake_quantize": "fake_quantization",
    "QuantizedLinear": "linear",
    "convert": "linear",
}


def __getattr__(name: str) -> Any:
    """Load what needs torch only when it is asked for."""
    if name in _NEED_TORCH:
        return getattr(import_module(f"{__name__}.{_NEED_TORCH[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
