"""Small formats whose numbers share scales: MXFP8, MXFP6, MXFP4, NVFP4, per-tensor FP8.

``schemes`` has the formats as records, ``reference`` one block over fractions, to be read, and
``quantize_blocks`` does whole arrays. numpy is loaded only with the latter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ampcourse.blocks.reference import Block, quantize_block, scale_exponent
from ampcourse.blocks.schemes import SCHEMES, BlockScheme, get_scheme

if TYPE_CHECKING:
    from ampcourse.blocks.quantize import quantize_blocks
    from ampcourse.blocks.record import QuantizedBlocks

__all__ = [
    "SCHEMES",
    "Block",
    "BlockScheme",
    "QuantizedBlocks",
    "get_scheme",
    "quantize_block",
    "quantize_blocks",
    "scale_exponent",
]


def __getattr__(name: str) -> Any:
    """Load what needs numpy only when it is asked for."""
    if name == "quantize_blocks":
        from ampcourse.blocks.quantize import quantize_blocks

        return quantize_blocks
    if name == "QuantizedBlocks":
        from ampcourse.blocks.record import QuantizedBlocks

        return QuantizedBlocks
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
