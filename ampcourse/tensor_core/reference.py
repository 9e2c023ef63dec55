"""One block of a Tensor Core as a scalar reference: exact fractions, plain Python.

Written to be read; `fuse` is the rule. Products are exact and not rounded. Each term has an
exponent: for a product the sum of its operands' exponents, so its significand lies in [1, 4)
and is not normalised, and a subnormal operand keeps the format's emin. The largest exponent
sets one quantum for all, every term loses what lies below it (toward zero), what is left is
added exactly, and the sum is rounded once. A longer dot product chains blocks: the result of
one is the C of the next.

Sources: PeerJ CS 7:e330 for alignment, truncation, subnormals and rounding; arXiv 2511.10909
and 2512.07004 for unnormalised exponents, block lengths, FP8 and the exponent of zero. As
modelled by mmasim 2.1.1, after arXiv 2511.10909: infinities and NaN act as in an IEEE sum
(infinity times 0 and infinity minus infinity are NaN), a sum past the largest finite number
becomes infinity even where the rounding is toward zero, and no result is -0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ampcourse.formats import FloatFormat, power_of_two
from ampcourse.rounding import floor_log2, round_to_integer, round_to_precision
from ampcourse.tensor_core.configurations import EMULATED_CHUNK, Configuration, configuration
from ampcourse.tensor_core.operands import check_operands


@dataclass(frozen=True)
class Term:
    """A product, or C, on its way into the sum.

    ``index`` is k for the product of a[k] and b[k], None for C, whose value is in ``a``.
    ``exponent``, ``product``, ``truncated`` and ``lost`` are None for an infinity or a NaN,
    and the last two for every term of a block that has one.
    """

    index: int | None
    a: float
    b: float | None
    #: The exact value of the term.
    product: Fraction | None
    #: The exponent it is aligned with; for zero, the configuration's zero_exponent.
    exponent: int | None
    #: What is left after bits below the quantum fell off, and what they were worth.
    truncated: Fraction | None = None
    lost: Fraction | None = None

    @property
    def value(self) -> float:
        """The term as a float, which may be an infinity or NaN."""
        return self.a if self.b is None else self.a * self.b


@dataclass(frozen=True)
class BlockTerms:
    """One block taken apart: its terms in order k = 0 to L - 1, then C, and what became of them.

    ``emax``, ``quantum``, ``truncated_sum`` and ``exact_sum`` are None if a term is an
    infinity or a NaN; then only the results say something.
    """

    configuration: Configuration
    terms: tuple[Term, ...]
    #: The largest exponent, and the weight 2^(emax - F) of the last bit that is kept.
    emax: int | None
    quantum: Fraction | None
    #: The sum of the truncated terms, before the final rounding.
    truncated_sum: Fraction | None
    #: What the block returns.
    result: float
    #: The sum without any truncation, and it rounded once, to nearest even (IEEE 754).
    exact_sum: Fraction | None
    correctly_rounded: float


def block_terms(
    a: Sequence[float],
    b: Sequence[float],
    c: float = 0.0,
    gpu: str = "H100",
    input_format: str | FloatFormat = "fp16",
    output_format: str | FloatFormat = "fp32",
    instruction: str | None = None,
) -> BlockTerms:
    """Take one block apart: D = C + the sum of a[k] b[k], k below the block length L.

    a and b are up to L Python floats exact in the input format, filled up with +0; c is exact
    in the output format. Raises ValueError for other values or lengths, for combinations that
    no GPU has (see `configuration`), and for emulated FP8, which is not one block.

    >>> block = block_terms([1.0], [1.0], -(1 - 2**-24), gpu="V100")
    >>> block.result == 2**-23, block.terms[-1].lost == -Fraction(1, 2**24)
    (True, True)
    >>> block_terms([1.0], [1.0], -(1 - 2**-24), gpu="A100").result == 2**-24
    True
    """
    rule = configuration(gpu, input_format, output_format, instruction)
    if rule.emulated:
        raise ValueError(
            f"{rule.input_format} {rule.instruction} on {rule.gpu} is emulated by two fp16 blocks "
            "and an addition; take apart input_format='fp16', or instruction=None"
        )
    check_operands(a, b, c, rule)
    if len(a) > rule.block_length:
        raise ValueError(
            f"{len(a)} products do not fit one block of {rule.gpu}, which holds "
            f"{rule.block_length}; pass fewer, or use dot_product, which chains blocks"
        )
    return fuse(a, b, c, rule)


def dot_product(
    a: Sequence[float],
    b: Sequence[float],
    c: float = 0.0,
    gpu: str = "H100",
    input_format: str | FloatFormat = "fp16",
    output_format: str | FloatFormat = "fp32",
    instruction: str | None = None,
) -> float:
    """Return C + the sum of a[k] b[k] as the GPU computes it: the scalar twin of `mma`.

    Any length from 1 on; the last block is filled up with +0. Emulated FP8 (see
    `configuration`) goes 32 products at a time. Domain and errors as for `block_terms`.

    >>> a, b, c = [1, 0, 0, 0, 1], [2048, 0, 0, 0, -2048], 3 * 2**-14
    >>> [dot_product(a, b, c, gpu=gpu) * 2**14 for gpu in ("V100", "A100", "H100")]
    [0.0, 2.0, 3.0]
    """
    rule = configuration(gpu, input_format, output_format, instruction)
    check_operands(a, b, c, rule)
    for start in range(0, len(a), rule.chunk):
        part = slice(start, start + rule.chunk)
        if rule.emulated:
            c = _emulated_fp8(a[part], b[part], c, rule)
        else:
            c = fuse(a[part], b[part], c, rule).result
    return float(c)


def fuse(a: Sequence[float], b: Sequence[float], c: float, rule: Configuration) -> BlockTerms:
    """Add up to L products and C by the rule of one configuration; operands are not checked."""
    filling = [0.0] * (rule.block_length - len(a))
    a, b = [*a, *filling], [*b, *filling]
    if not all(math.isfinite(x) for x in (*a, *b, c)):
        return _special_block(a, b, c, rule)
    products = [Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)] + [Fraction(c)]
    exponents = [
        *(
            exponent(x, rule.operands) + exponent(y, rule.operands)
            for x, y in zip(a, b, strict=True)
        ),
        exponent(c, rule.output),
    ]
    exponents = [e if p else rule.zero_exponent for p, e in zip(products, exponents, strict=True)]
    emax = max(exponents)
    quantum = power_of_two(emax - rule.fraction_bits)
    truncated = [round_to_integer(p / quantum, "toward_zero") * quantum for p in products]
    total, exact = sum(truncated, Fraction(0)), sum(products, Fraction(0))
    return BlockTerms(
        configuration=rule,
        terms=_terms(a, b, c, products, exponents, truncated),
        emax=emax,
        quantum=quantum,
        truncated_sum=total,
        result=round_once(total, rule.output, rule.output_rounding, rule.output_fraction_bits),
        exact_sum=exact,
        correctly_rounded=round_once(exact, rule.output),
    )


def round_once(
    x: Fraction, fmt: FloatFormat, mode: str = "nearest_even", fraction_bits: int | None = None
) -> float:
    """Round an exact sum to a format, or to fewer fraction bits with the format's exponents.

    Past the format's largest number it is an infinity in every mode (as modelled by mmasim
    2.1.1), and a zero is +0. The smallest exponent is the format's emin, so subnormals keep
    fewer bits.

    >>> from ampcourse.formats import FP16
    >>> round_once(Fraction(65519), FP16), round_once(Fraction(2**20), FP16, "toward_zero")
    (65504.0, inf)
    """
    bits = fmt.significand_bits if fraction_bits is None else fraction_bits
    rounded = round_to_precision(x, bits + 1, mode, fmt.emin)
    if abs(rounded) > fmt.max:
        return math.copysign(math.inf, rounded)
    return float(rounded)


def exponent(x: float, fmt: FloatFormat) -> int:
    """Return the exponent of an operand; subnormals have emin (PeerJ CS 7:e330), and zeros here.

    >>> from ampcourse.formats import FP16
    >>> exponent(2.0**-24, FP16), exponent(65504.0, FP16)
    (-14, 15)
    """
    return max(floor_log2(Fraction(x)), fmt.emin) if x else fmt.emin


def _special_block(
    a: Sequence[float], b: Sequence[float], c: float, rule: Configuration
) -> BlockTerms:
    """Return a block with an infinity or a NaN in it, which no finite term can change."""
    terms = []
    for index, x, y in (*zip(range(len(a)), a, b, strict=True), (None, c, 1.0)):
        finite = math.isfinite(x) and math.isfinite(y)
        product = Fraction(x) * Fraction(y) if finite else None
        terms.append(Term(index, x, None if index is None else y, product, None))
    result = sum((term.value for term in terms if term.product is None), 0.0)
    return BlockTerms(rule, tuple(terms), None, None, None, result, None, result)


def _terms(
    a: Sequence[float],
    b: Sequence[float],
    c: float,
    products: Sequence[Fraction],
    exponents: Sequence[int],
    truncated: Sequence[Fraction],
) -> tuple[Term, ...]:
    labels = [*zip(range(len(a)), a, b, strict=True), (None, c, None)]
    return tuple(
        Term(index, x, y, product, aligned_at, kept, product - kept)
        for (index, x, y), product, aligned_at, kept in zip(
            labels, products, exponents, truncated, strict=True
        )
    )


def _emulated_fp8(a: Sequence[float], b: Sequence[float], c: float, rule: Configuration) -> float:
    """Do 32 FP8 products as mma.sync does where it has no FP8 unit of its own.

    Converted to FP16, which is exact, the pairs k = 0 1, 4 5, 8 9, ... make one FP16 block that
    starts from 0 and the pairs 2 3, 6 7, ... the next; then C is added in one IEEE addition.
    Found from recorded rows of H100, H200 and B200; mmasim 2.1.1 does not model it.
    """
    half = replace(rule, input_format=rule.operands.name, emulated=False)
    filling = [0.0] * (EMULATED_CHUNK - len(a))
    a, b = [*a, *filling], [*b, *filling]
    total = 0.0
    for parity in (0, 1):
        order = [k for k in range(EMULATED_CHUNK) if k // 2 % 2 == parity]
        total = fuse([a[k] for k in order], [b[k] for k in order], total, half).result
    if not (math.isfinite(total) and math.isfinite(c)):
        return total + c
    return round_once(Fraction(total) + Fraction(c), rule.output)
