"""Rounding whole arrays to any format, bit for bit as ``ampcourse.encode`` rounds one number.

numpy arrays and torch tensors go in, the same kind comes out; torch is never loaded for numpy's
sake. The parts: ``rule`` (what to do, as constants), ``kernel`` (the arithmetic, on bit
patterns), ``array_ops`` (that arithmetic's few operations in numpy and in torch), ``values`` and
``codes`` (the functions to call), ``random_integers`` and ``straight_through``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ampcourse.quantize.codes import decode_array, encode_array
from ampcourse.quantize.values import quantize

if TYPE_CHECKING:
    from ampcourse.quantize.straight_through import quantize_ste

__all__ = ["decode_array", "encode_array", "quantize", "quantize_ste"]


def __getattr__(name: str) -> Any:
    """Load what needs torch only when it is asked for."""
    if name == "quantize_ste":
        from ampcourse.quantize.straight_through import quantize_ste

        return quantize_ste
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
