"""Block formats as records: which elements, how many of them share a scale, and what it is.

Sources: OCP Microscaling Formats (MX) Specification 1.0 for the MX formats (blocks of
32 with an E8M0 scale); NVIDIA, Pretraining Large Language Models with NVFP4
(arXiv 2509.25149) for NVFP4 (blocks of 16 with an E4M3 scale, and one FP32 scale for the whole
tensor). For FP8 with one scale per tensor see Micikevicius et al., FP8 Formats for Deep
Learning, arXiv 2209.05433.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

from ampcourse.formats import E2M1, E2M3, E3M2, E4M3, E5M2, E8M0, FP32, FloatFormat


@dataclass(frozen=True)
class BlockScheme:
    """One way of storing numbers as small elements with shared scales.

    A value is element x scale, times the tensor's scale where there is one. Raises ValueError
    for a block below 1 and for elements without a sign or a zero.

    >>> SCHEMES["mxfp4"].bits_per_value, SCHEMES["nvfp4"].bits_per_value
    (4.25, 4.5)
    """

    name: str
    #: The format of the elements.
    element: FloatFormat
    #: The format of the shared scale.
    scale: FloatFormat
    #: How many neighbours along an axis share a scale; None for all of the tensor.
    block: int | None
    #: Whether an FP32 scale for the whole tensor comes on top.
    tensor_scale: bool = False

    def __post_init__(self) -> None:
        if self.block is not None and self.block < 1:
            raise ValueError(f"block = {self.block} is below 1; None shares one scale by all")
        if not (self.element.signed and self.element.has_zero):
            raise ValueError(f"{self.element.name} has no sign or no zero: a scale, no element")

    @property
    def bits_per_value(self) -> float:
        """Storage per value in whole blocks; what a tensor shares does not count."""
        return self.element.bits + (self.scale.bits / self.block if self.block else 0)


def _mx(name: str, element: FloatFormat) -> BlockScheme:
    return BlockScheme(name, element, E8M0, block=32)


_MADE = (
    _mx("mxfp8_e4m3", E4M3),
    _mx("mxfp8_e5m2", E5M2),
    _mx("mxfp6_e3m2", E3M2),
    _mx("mxfp6_e2m3", E2M3),
    _mx("mxfp4", E2M1),
    BlockScheme("nvfp4", E2M1, E4M3, block=16, tensor_scale=True),
    *(BlockScheme(f"per_tensor_{f.name}", f, FP32, block=None) for f in (E4M3, E5M2, E2M1)),
)

#: The schemes by name.
SCHEMES: Mapping[str, BlockScheme] = MappingProxyType({scheme.name: scheme for scheme in _MADE})


def get_scheme(scheme: str | BlockScheme) -> BlockScheme:
    """Return the scheme of this name, or the record itself if it is one.

    "per_tensor" is short for "per_tensor_e4m3". Raises ValueError for an unknown name.
    """
    if isinstance(scheme, BlockScheme):
        return scheme
    name = str(scheme).strip().lower()
    name = "per_tensor_e4m3" if name == "per_tensor" else name
    if name not in SCHEMES:
        close = get_close_matches(name, SCHEMES, n=1)
        suggestion = f" did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"unknown scheme {scheme!r};{suggestion} the schemes are {', '.join(SCHEMES)}, and "
            "BlockScheme(name, element, scale, block) makes others"
        )
    return SCHEMES[name]
