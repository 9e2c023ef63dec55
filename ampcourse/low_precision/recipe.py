"""Recipes: which number format each operand of a linear layer's three products gets.

The products of a step are y = x W^T forward, and dx = dy W and dW = dy^T x backward. A recipe
names one format for weights W, one for activations x and one for gradients dy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

from ampcourse.blocks import SCHEMES, BlockScheme, get_scheme
from ampcourse.formats import FORMATS, FloatFormat, get_format

SCALINGS = ("current", "delayed")
GRADIENT_ROUNDINGS = ("nearest_even", "stochastic")


@dataclass(frozen=True)
class Recipe:
    """The formats of a linear layer's operands, and how their scales are found.

    A format is the name of one of ampcourse.blocks.SCHEMES (scaled), or one of
    ampcourse.formats.FORMATS (cast without a scale); None means BF16. Raises ValueError for
    names that are neither and for a history below 1.
    """

    name: str
    weights: str | None = None
    activations: str | None = None
    gradients: str | None = None
    #: Whether a scale per tensor is made from this tensor's amax or from past steps' amaxes.
    #: Block formats have no use for it: their scales are always made from the block.
    scaling: str = "current"
    #: Powers of two left free above the amax; for one scale per tensor only.
    margin: int = 0
    #: Steps in the amax history of delayed scaling.
    history: int = 16
    #: How gradients are rounded; weights and activations always to nearest even.
    gradient_rounding: str = "nearest_even"

    def __post_init__(self) -> None:
        for tensor in ("weights", "activations", "gradients"):
            operand_format(getattr(self, tensor))
        if self.history < 1:
            raise ValueError(f"history = {self.history} is below 1 step")
        _check("scaling", self.scaling, SCALINGS)
        _check("gradient_rounding", self.gradient_rounding, GRADIENT_ROUNDINGS)


def operand_format(name: str | None) -> BlockScheme | FloatFormat:
    """Return the scheme or format that a recipe names; raise ValueError if there is none.

    >>> operand_format(None).name, operand_format("mxfp4").name
    ('bf16', 'mxfp4')
    """
    if name is None:
        return FORMATS["bf16"]
    if name in FORMATS:
        return get_format(name)
    if name == "per_tensor" or name in SCHEMES:
        return get_scheme(name)
    close = get_close_matches(str(name), (*SCHEMES, *FORMATS), n=1)
    suggestion = f" did you mean {close[0]!r}?" if close else ""
    raise ValueError(
        f"{name!r} is no format for an operand;{suggestion} scaled ones are {', '.join(SCHEMES)}, "
        f"unscaled ones {', '.join(FORMATS)}"
    )


def get_recipe(recipe: str | Recipe) -> Recipe:
    """Return the recipe of this name, or the record itself; raise ValueError if unknown."""
    if isinstance(recipe, Recipe):
        return recipe
    _check("recipe", recipe, tuple(RECIPES))
    return RECIPES[recipe]


def _check(field: str, value: str, legal: tuple[str, ...]) -> None:
    if value in legal:
        return
    close = get_close_matches(str(value), legal, n=1)
    suggestion = f" did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"{field} = {value!r} is unknown;{suggestion} it is one of {', '.join(legal)}")


def _fp8(name: str, scaling: str) -> Recipe:
    forward, backward = "per_tensor_e4m3", "per_tensor_e5m2"
    return Recipe(name, forward, forward, backward, scaling)


_MADE = (
    Recipe("fp32", "fp32", "fp32", "fp32"),
    Recipe("bf16"),
    Recipe("e4m3_unscaled", *("e4m3",) * 3),
    Recipe("e5m2_unscaled", *("e5m2",) * 3),
    Recipe("e4m3", *("per_tensor_e4m3",) * 3),
    _fp8("fp8", "current"),
    _fp8("fp8_delayed", "delayed"),
    Recipe("mxfp8", *("mxfp8_e4m3",) * 3),
    Recipe("fp4", *("per_tensor_e2m1",) * 3),
    Recipe("mxfp4", *("mxfp4",) * 3),
    Recipe("nvfp4", *("nvfp4",) * 3),
    Recipe("nvfp4_stochastic", *("nvfp4",) * 3, gradient_rounding="stochastic"),
)

#: The recipes by name. "fp32" rounds nothing; the "unscaled" ones and "fp4" (one scale for the
#: whole tensor) show what scales and blocks are for; "e4m3" differs from "e4m3_unscaled" in its
#: scales alone.
#: FP8: E4M3 forward and E5M2 for gradients (arXiv 2209.05433; Transformer Engine's HYBRID). MXFP8:
#: E4M3 for all three, the default of Transformer Engine's MXFP8BlockScaling. NVFP4: from
#: arXiv 2509.25149, whose gradients are rounded stochastically; without that paper's Hadamard
#: transforms, its weight blocks of 16 x 16 and the layers that it keeps in higher precision.
RECIPES: Mapping[str, Recipe] = MappingProxyType({recipe.name: recipe for recipe in _MADE})
