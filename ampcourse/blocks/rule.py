"""The choices that a block format leaves open, each an argument with a default.

MX 1.0, 6.3 fixes little: the scale is the largest power of two not above the block's largest
magnitude, over the largest power of two of the element format ("floor" here), and elements
that come out too large are clamped. Other rules for the scale are in use, and of blocks of
zeros, of infinities and of NaN the text of the conversion does not say enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from ampcourse.blocks.schemes import BlockScheme
from ampcourse.formats import E8M0

#: How the exponent of an E8M0 scale is found from a block's largest magnitude; see quantize_blocks.
POWER_RULES = ("floor", "ceil", "even", "fit")
#: How a scale with a significand (E4M3, FP32) is rounded.
FLOAT_RULES = ("nearest", "up")
ZERO_SCALES = ("smallest", "one", "zero")
NONFINITE = ("block", "element", "error")
PARTIAL = ("error", "pad")


@dataclass(frozen=True)
class BlockRule:
    """One answer to each open question; raises ValueError for one that is none.

    ``scale_rule`` and ``zero_scale`` depend on the format of the scale; None takes its
    default: "floor" and "smallest" for E8M0, "nearest" and "zero" for others, but "one" for
    a scale per tensor.
    """

    scale_rule: str
    zero_scale: str
    nonfinite: str
    partial: str = "error"


def block_rule(
    scheme: BlockScheme,
    scale_rule: str | None = None,
    zero_scale: str | None = None,
    nonfinite: str = "block",
    partial: str = "error",
) -> BlockRule:
    """Return the checked choices for a scheme, with its defaults filled in."""
    powers = scheme.scale == E8M0
    scale_rules = POWER_RULES if powers else FLOAT_RULES
    zero_scales = ZERO_SCALES if scheme.scale.has_zero else ZERO_SCALES[:2]
    default_zero = "smallest" if powers else "zero" if scheme.block else "one"
    return BlockRule(
        _checked("scale_rule", scale_rule or scale_rules[0], scale_rules, scheme),
        _checked("zero_scale", zero_scale or default_zero, zero_scales, scheme),
        _checked("nonfinite", nonfinite, NONFINITE, scheme),
        _checked("partial", partial, PARTIAL, scheme),
    )


def _checked(name: str, value: str, legal: tuple[str, ...], scheme: BlockScheme) -> str:
    if value in legal:
        return value
    close = get_close_matches(str(value), legal, n=1)
    suggestion = f" did you mean {close[0]!r}?" if close else ""
    raise ValueError(
        f"{name} = {value!r} is no choice for {scheme.name};{suggestion} it is one of "
        f"{', '.join(legal)}"
    )
