"""Whole arrays in block formats: the vector twin of ``ampcourse.blocks.reference``."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ampcourse.blocks.layout import Layout, library, make_layout
from ampcourse.blocks.record import Coded, QuantizedBlocks
from ampcourse.blocks.reference import scale_code_of, tensor_scale_of, zero_scale_code
from ampcourse.blocks.rule import BlockRule, block_rule
from ampcourse.blocks.schemes import BlockScheme, get_scheme
from ampcourse.formats import E8M0, FloatFormat
from ampcourse.quantize import decode_array, encode_array

if TYPE_CHECKING:
    from ampcourse.blocks.layout import Array

_BIAS, _SIGNIFICAND_BITS = 1023, 52  # of float64, in which amax is looked at
_HIDDEN_BIT = 1 << _SIGNIFICAND_BITS
_SMALLEST = 2.0**-1074
_FLOATS = ("float16", "bfloat16", "float32", "float64")


def quantize_blocks(
    x: Array,
    scheme: str | BlockScheme,
    axis: int = -1,
    *,
    scale_rule: str | None = None,
    zero_scale: str | None = None,
    nonfinite: str = "block",
    partial: str = "error",
    amax: float | None = None,
    mode: str = "nearest_even",
    random_bits: int | None = None,
    generator: Any = None,
) -> QuantizedBlocks:
    """Quantise an array or tensor to a block format, its blocks running along ``axis``.

    ``x`` is a numpy array or torch tensor of float16, bfloat16, float32 or float64, of any
    shape and strides; what comes back is of the same kind and on the same device. The schemes
    are those of SCHEMES, or a BlockScheme of one's own.

    **MX** (OCP MX 1.0, 6.3): the scale is a power of two that depends on the largest
    magnitude of the block, amax. A scale that E8M0 lacks is replaced by the nearest one it
    has, 2^-127 or 2^127. Every number is divided by the scale, rounded to the element format
    and, if that is too large, clamped to its largest number.

    ==========  ========================================================================
    scale_rule  exponent of an E8M0 scale
    ==========  ========================================================================
    "floor"     floor(log2 amax) - emax of the element: the rule of MX 1.0. Elements
                beyond the largest are clamped: 7 / 1 becomes 6 in MXFP4.
    "ceil"      ceil(log2 amax) - emax
    "even"      as "floor" after rounding amax to the precision of the element
    "fit"       ceil(log2(amax / largest element)): the smallest with nothing clamped
                (torchao's RCEIL, after cuBLAS)
    ==========  ========================================================================

    **Per tensor**: one FP32 scale, amax / largest element. **NVFP4**: an FP32 scale for the
    tensor, amax / (6 x 448), and for each block amax / 6 over that scale, in E4M3. Such
    scales are rounded to nearest even, or with scale_rule="up" upwards. All quotients are
    taken exactly and rounded once; kernels that calculate in FP32 may differ in the last bit
    of a scale. ``amax`` takes the place of the tensor's own largest magnitude (delayed
    scaling).

    What the specification leaves open:

    ==========  ========================================================================
    zero_scale  scale of a block whose scale would be 0: "smallest" (default for E8M0, as
                torchao and gfloat do), "one" (default per tensor) or, where the format
                has it, "zero" (default for NVFP4, whose block then is all zeros)
    nonfinite   an infinity or NaN in a block: "block" makes the scale NaN and so the whole
                block (MX 1.0), elements are stored as 0; "element" keeps it in its
                element, infinities clamped, NaN only where the element has one (ValueError
                elsewhere); "error" raises ValueError. amax is that of the finite numbers.
    partial     a last block that is not full: "error" raises ValueError, "pad" fills it
                up with zeros, which count as storage but are not returned
    ==========  ========================================================================

    ``mode``, ``random_bits`` and ``generator`` are those of ampcourse.quantize.quantize and
    hold for the elements. Raises ValueError for unknown names and for an axis that x lacks,
    TypeError for integers and other types.

    >>> q = quantize_blocks(np.array([5.0, -0.3, 1.0, 7.9]), "mxfp4", partial="pad")
    >>> q.elements.codes.tolist(), q.scales.codes.tolist()
    ([6, 9, 2, 7], [127])
    >>> q.dequantize().tolist(), q.bits_per_value
    ([4.0, -0.5, 1.0, 6.0], 34.0)
    """
    scheme = get_scheme(scheme)
    rule = block_rule(scheme, scale_rule, zero_scale, nonfinite, partial)
    values = _doubles(x)
    layout = make_layout(tuple(x.shape), scheme, axis, partial)
    blocks = layout.split(values)
    finite = library(blocks).isfinite(blocks)
    lost = _lost(finite, rule)
    largest = _largest(blocks, finite)
    overall = _overall(largest, scheme, amax)
    shared = tensor_scale_of(overall, scheme)
    scale_codes = _scale_codes(largest, overall, shared, lost, scheme, rule)
    scales = decode_array(scale_codes, scheme.scale, dtype=blocks.dtype)
    elements = encode_array(
        _over_scale(blocks, scales * float(shared)),
        scheme.element,
        mode,
        "saturate",
        random_bits=random_bits,
        generator=generator,
    )
    return _record(x, scheme, layout, elements, scale_codes, shared)


def carry_from(element: FloatFormat, rule: str) -> int:
    """Return from which significand field of amax, in float64, its exponent counts one more.

    The exponent of an E8M0 scale is that of amax, less emax of the element, plus this carry;
    2^52 means never.
    """
    if rule == "floor":
        return _HIDDEN_BIT
    if rule == "ceil":
        return 1
    if rule == "even":  # the midpoint between the last significand and the next power of two
        return _HIDDEN_BIT - (_HIDDEN_BIT >> element.precision)
    largest = element.max / Fraction(2) ** element.emax  # in [1, 2)
    return int((largest - 1) * _HIDDEN_BIT) + 1


def _doubles(x: Any) -> Any:
    """Return x as float64, which holds every supported type exactly."""
    if isinstance(x, np.ndarray | np.generic):
        if x.dtype.name in _FLOATS:
            return x.astype(np.float64)
    elif hasattr(x, "is_floating_point") and str(x.dtype).removeprefix("torch.") in _FLOATS:
        return x.detach().double()
    what = f"{type(x).__name__} of {x.dtype}" if hasattr(x, "dtype") else type(x).__name__
    raise TypeError(
        f"quantize_blocks takes numpy arrays and torch tensors of {', '.join(_FLOATS)}, not "
        f"{what}; convert it first, for example with x.astype('float32') or x.float()"
    )


def _lost(finite: Any, rule: BlockRule) -> Any:
    """Return which blocks are given up; raise if the rule allows none to be."""
    broken = ~finite.all(-1)
    if rule.nonfinite == "error" and bool(broken.any()):
        raise ValueError(
            f"{int(broken.sum())} blocks hold an infinity or NaN; nonfinite='block' gives up "
            "those blocks instead, nonfinite='element' only the elements"
        )
    return broken if rule.nonfinite == "block" else broken & False


def _largest(blocks: Any, finite: Any) -> Any:
    """Return the largest finite magnitude of each block; 0 for an empty one."""
    xp = library(blocks)
    if not blocks.shape[-1]:
        return xp.zeros_like(blocks, dtype=blocks.dtype)[..., :1].sum(-1)
    return xp.amax(xp.where(finite, abs(blocks), 0.0), -1)


def _overall(largest: Any, scheme: BlockScheme, amax: float | None) -> Fraction:
    """Return the magnitude that a scale shared by the whole tensor is made for."""
    shared = scheme.tensor_scale or scheme.block is None
    if amax is not None:
        if not shared:
            raise ValueError(f"amax = {amax!r} is of no use: {scheme.name} scales each block alone")
        if not 0 <= amax < float("inf"):
            raise ValueError(f"amax = {amax!r} is no magnitude; pass a finite number of at least 0")
        return Fraction(float(amax))
    return Fraction(float(largest.max())) if shared and 0 not in largest.shape else Fraction(0)


def _scale_codes(
    largest: Any,
    overall: Fraction,
    shared: Fraction,
    lost: Any,
    scheme: BlockScheme,
    rule: BlockRule,
) -> Any:
    xp = library(largest)
    if scheme.scale == E8M0:
        codes = _power_codes(largest, scheme, rule)
    elif scheme.block is None:
        codes = xp.full_like(largest, scale_code_of(overall, scheme, rule), dtype=xp.int64)
    else:
        mode = "up" if rule.scale_rule == "up" else "nearest_even"
        wanted = largest / float(shared * scheme.element.max)  # as exact as in _over_scale
        codes = encode_array(wanted, scheme.scale, mode, "saturate")
        codes = xp.where(codes == 0, _like(codes, zero_scale_code(scheme, rule)), codes)
    return xp.where(lost, _like(codes, scheme.scale.nan_code), codes)


def _power_codes(largest: Any, scheme: BlockScheme, rule: BlockRule) -> Any:
    """Return E8M0 codes from the bits of the largest magnitudes, so that log2 is exact."""
    xp = library(largest)
    bits = largest.view(xp.int64)
    carry = (bits & (_HIDDEN_BIT - 1)) >= carry_from(scheme.element, rule.scale_rule)
    exponent = (bits >> _SIGNIFICAND_BITS) - _BIAS - scheme.element.emax + carry
    codes = xp.clip(exponent + E8M0.bias, 0, E8M0.largest_code)
    return xp.where(largest == 0, _like(codes, zero_scale_code(scheme, rule)), codes)


def _over_scale(blocks: Any, scales: Any) -> Any:
    """Return the blocks over their scales in float64, exact enough to be rounded once more.

    Elements and the midpoints between them have at most 5 significant bits and a scale has at
    most 28, so their products with the scale are numbers of float64. A block entry that is
    not such a product differs from it by at least 2^-53 of its size, and the quotient from
    element or midpoint by as much, which is more than float64 rounds away.
    """
    xp = library(blocks)
    dead = ~(scales > 0)  # zero, or NaN for a block that is given up
    scales = xp.where(dead, 1.0, scales)[..., None]
    blocks = xp.where(dead[..., None], 0.0, blocks)
    quotients = blocks / scales
    # What underflows, as float64 input can, is still no zero to a directed rounding.
    lost = (quotients == 0) & (blocks != 0)
    return xp.where(lost, xp.sign(blocks) * _SMALLEST, quotients)


def _record(
    x: Any, scheme: BlockScheme, layout: Layout, elements: Any, scales: Any, shared: Fraction
) -> QuantizedBlocks:
    xp = library(x)
    wide = xp.float64 if x.dtype.itemsize == 8 else xp.float32
    elements, scales = layout.join(elements), _unsigned(layout.per_block(scales), scheme.scale)
    return QuantizedBlocks(
        scheme=scheme,
        elements=Coded(elements, decode_array(elements, scheme.element, dtype=wide)),
        scales=Coded(scales, decode_array(scales, scheme.scale, dtype=wide)),
        tensor_scale=float(shared),
        dtype=x.dtype,
        layout=layout,
    )


def _unsigned(codes: Any, fmt: FloatFormat) -> Any:
    """Return codes in the smallest unsigned dtype that holds them, as encode_array does."""
    width = next(width for width in (8, 16, 32, 64) if width >= fmt.bits)
    dtype = getattr(library(codes), f"uint{width}")
    return codes.astype(dtype) if library(codes) is np else codes.to(dtype)


def _like(codes: Any, value: Any) -> Any:
    return library(codes).full_like(codes, value)
