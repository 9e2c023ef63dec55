"""What comes out of quantising to a block format."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ampcourse.blocks.layout import Layout, library
from ampcourse.blocks.schemes import BlockScheme
from ampcourse.formats import FP32, get_format
from ampcourse.quantize import decode_array, quantize

if TYPE_CHECKING:
    from ampcourse.blocks.layout import Array


class Coded(NamedTuple):
    """Codes and the values that they stand for, arrays of one shape."""

    codes: Array
    values: Array


@dataclass(frozen=True)
class QuantizedBlocks:
    """An array in a block format.

    ``elements`` has the array's shape; its values are those before scaling. ``scales`` has
    one entry per block: the same shape with the number of blocks in place of the length of the
    axis, and no axes for a scale that all share. ``tensor_scale`` is 1.0 where the scheme has
    none. Values are float32, or float64 if the array was.
    """

    scheme: BlockScheme
    elements: Coded
    scales: Coded
    tensor_scale: float
    #: The dtype of the array that was quantised.
    dtype: Any
    layout: Layout = field(repr=False)

    def dequantize(self) -> Array:
        """Return the numbers that are stored, in the dtype of the array that was quantised.

        The product of element and scales is rounded once, to nearest even, if that dtype
        needs it (FP16 cannot hold all of MXFP8's range, float32 not all digits of an NVFP4
        product). All values of a block with a NaN scale are NaN (MX 1.0).
        """
        if self.dtype == self.elements.values.dtype:
            # Element times block scale is exact, or else the tensor's scale is 1.
            return self._product(self.elements.values, self.scales.values)
        double, scheme = library(self.elements.codes).float64, self.scheme
        exact = self._product(
            decode_array(self.elements.codes, scheme.element, dtype=double),
            decode_array(self.scales.codes, scheme.scale, dtype=double),
        )
        rounded = quantize(exact, get_format(str(self.dtype).rpartition(".")[-1]))
        return rounded.to(self.dtype) if hasattr(rounded, "to") else rounded.astype(self.dtype)

    def _product(self, elements: Array, scales: Array) -> Any:
        blocks = self.layout.split(elements) * self.layout.across(scales)
        return self.layout.join(blocks * self.tensor_scale)

    @property
    def bits_per_value(self) -> float:
        """Bits of storage over the number of values; padding and all scales included."""
        values = prod(self.layout.shape)
        if not values:
            return float("nan")
        blocks = prod(self.scales.codes.shape)
        stored = values if self.scheme.block is None else blocks * self.scheme.block
        bits = stored * self.scheme.element.bits + blocks * self.scheme.scale.bits
        return (bits + (FP32.bits if self.scheme.tensor_scale else 0)) / values
