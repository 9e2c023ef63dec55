"""One block, number by number: the scalar reference, exact over fractions.

Written to be read; ``quantize_blocks`` is its vector twin. Three steps: find the block's
largest magnitude, choose the scale from it, divide every number by the scale and round it to
the element format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ampcourse.blocks.rule import BlockRule, block_rule
from ampcourse.blocks.schemes import BlockScheme, get_scheme
from ampcourse.decode import decode
from ampcourse.encode import encode
from ampcourse.formats import E8M0, FP32, FloatFormat, power_of_two
from ampcourse.operand import Number, Operand, read_operand
from ampcourse.rounding import floor_log2, round_to_precision


@dataclass(frozen=True)
class Block:
    """A stored block: the code of its scale and the codes of its elements.

    ``tensor_scale`` is 1 where the scheme has no scale for the whole tensor.
    """

    scheme: BlockScheme = field(repr=False)
    scale_code: int
    codes: tuple[int, ...]
    tensor_scale: Fraction = Fraction(1)

    @property
    def scale(self) -> float:
        """The block's scale; NaN if the block was lost."""
        return decode(self.scale_code, self.scheme.scale).value

    @property
    def elements(self) -> tuple[float, ...]:
        """The values of the elements, before they are multiplied by the scale."""
        return tuple(decode(code, self.scheme.element).value for code in self.codes)

    def dequantize(self) -> list[Fraction | float]:
        """Return the numbers that the block stands for, as fractions; infinity or NaN as float.

        MX 1.0: each value is the scale times the element, and with a NaN scale all
        values are NaN.
        """
        scale = decode(self.scale_code, self.scheme.scale).fraction
        values: list[Fraction | float] = []
        for code in self.codes:
            element = decode(code, self.scheme.element)
            if scale is None:
                values.append(float("nan"))
            elif element.fraction is None:
                values.append(element.value)
            else:
                values.append(element.fraction * scale * self.tensor_scale)
        return values


def quantize_block(
    numbers: Sequence[Number],
    scheme: str | BlockScheme = "mxfp4",
    *,
    tensor_scale: Fraction | float = 1,
    scale_rule: str | None = None,
    zero_scale: str | None = None,
    nonfinite: str = "block",
    mode: str = "nearest_even",
) -> Block:
    """Quantise numbers that share one scale, whatever their count.

    The rules and their names are those of ``quantize_blocks``. Nothing is rounded but the
    scale and the elements, once each. Raises ValueError for an unknown scheme or rule, for a
    number that is not finite with nonfinite="error", and as encode does.

    >>> block = quantize_block([5.0, -0.3, 1.0, 7.9], "mxfp4")
    >>> block.scale_code, block.scale, [hex(code) for code in block.codes]
    (127, 1.0, ['0x6', '0x9', '0x2', '0x7'])
    >>> block.elements
    (4.0, -0.5, 1.0, 6.0)
    """
    scheme = get_scheme(scheme)
    rule = block_rule(scheme, scale_rule, zero_scale, nonfinite)
    operands = [read_operand(number) for number in numbers]
    shared = Fraction(tensor_scale)
    broken = next((n for n, x in zip(numbers, operands, strict=True) if x.kind != "finite"), None)
    if broken is not None and nonfinite == "error":
        raise ValueError(f"{broken!r} is not finite; nonfinite='block' gives up its block instead")
    if broken is not None and nonfinite == "block":
        return Block(scheme, _nan_code(scheme), (0,) * len(operands), shared)
    amax = max((x.magnitude for x in operands if x.kind == "finite"), default=Fraction(0))
    scale_code = scale_code_of(amax / shared, scheme, rule)
    scale = decode(scale_code, scheme.scale).fraction
    assert scale is not None
    codes = tuple(_element_code(x, scale * shared, scheme.element, mode) for x in operands)
    return Block(scheme, scale_code, codes, shared)


def scale_code_of(amax: Fraction, scheme: BlockScheme, rule: BlockRule) -> int:
    """Return the code of the scale for a block's largest magnitude."""
    code = 0
    if amax and scheme.scale == E8M0:
        exponent = scale_exponent(amax, scheme.element, rule.scale_rule)
        # MX 1.0 has no rule for exponents that E8M0 lacks: its nearest end is taken.
        return encode(power_of_two(exponent), E8M0, overflow="saturate")
    if amax:
        mode = "up" if rule.scale_rule == "up" else "nearest_even"
        code = encode(amax / scheme.element.max, scheme.scale, mode, overflow="saturate")
    return code or zero_scale_code(scheme, rule)


def scale_exponent(amax: Fraction, element: FloatFormat, rule: str = "floor") -> int:
    """Return the exponent of an E8M0 scale for a block's largest magnitude, before clamping.

    >>> from ampcourse.formats import E2M1
    >>> [scale_exponent(Fraction(7), E2M1, rule) for rule in ("floor", "ceil", "even", "fit")]
    [0, 1, 1, 1]
    """
    if rule == "fit":
        return _ceil_log2(amax / element.max)
    if rule == "ceil":
        return _ceil_log2(amax) - element.emax
    if rule == "even":
        amax = round_to_precision(amax, element.precision)
    return floor_log2(amax) - element.emax


def zero_scale_code(scheme: BlockScheme, rule: BlockRule) -> int:
    """Return the code of the scale where the largest magnitude asks for a scale of 0."""
    if rule.zero_scale == "one":
        return encode(1, scheme.scale)
    return encode(scheme.scale.smallest if rule.zero_scale == "smallest" else 0, scheme.scale)


def tensor_scale_of(amax: Fraction, scheme: BlockScheme) -> Fraction:
    """Return the FP32 scale of a whole tensor: its largest magnitude over the largest value.

    The largest value of NVFP4 is 6 x 448, so that the largest block scale becomes 448.
    Rounded to nearest; 1 where that would be 0.

    >>> from ampcourse.blocks.schemes import SCHEMES
    >>> tensor_scale_of(Fraction(2688), SCHEMES["nvfp4"])
    Fraction(1, 1)
    """
    if not scheme.tensor_scale:
        return Fraction(1)
    largest = scheme.element.max * scheme.scale.max
    scale = decode(encode(amax / largest, FP32, overflow="saturate"), FP32).fraction
    return scale or Fraction(1)


def _element_code(x: Operand, scale: Fraction, element: FloatFormat, mode: str) -> int:
    """Return an element's code; a scale of 0, which E8M0 cannot have, leaves only +0."""
    if scale == 0:
        return 0
    if x.kind == "finite":
        sign = element.sign_mask if x.sign else 0
        return encode(x.fraction / scale, element, mode, overflow="saturate") | sign
    text = ("-" if x.sign else "") + ("inf" if x.kind == "infinity" else "nan")
    return encode(text, element, mode, overflow="saturate")


def _nan_code(scheme: BlockScheme) -> int:
    assert scheme.scale.nan_code is not None
    return scheme.scale.nan_code


def _ceil_log2(x: Fraction) -> int:
    exponent = floor_log2(x)
    return exponent if x == power_of_two(exponent) else exponent + 1
