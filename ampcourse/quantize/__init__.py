"""Rounding whole arrays to any format, bit for bit as ``ampcourse.encode`` rounds one number.

numpy arrays and torch tensors go in, the same kind comes out; torch is never loaded for numpy's
sake. To call: ``values`` (quantize), ``codes`` (encode_array, decode_array) and
``straight_through`` (quantize_ste). To read first: ``rule`` (what to do, as constants) and
``kernel`` (the arithmetic), with ``patterns`` and ``array_ops`` as its vocabulary and
``decoding`` as the way back. ``arrays``, ``pieces`` and ``random_integers`` feed them.
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
