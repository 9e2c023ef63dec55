"""Fake quantisation: round a tensor to a scaled format and hold the result in FP32.

Products of such tensors are what a GPU computes from the stored codes, up to the order of
the FP32 sums. The rules for blocks are those of ``ampcourse.blocks.quantize_blocks``, bit for
bit; here no codes are made, which is several times faster and short enough to be read.
"""

from __future__ import annotations

import torch

from ampcourse.blocks import BlockScheme
from ampcourse.blocks.layout import make_layout
from ampcourse.encode import Overflow
from ampcourse.formats import E8M0, FP32, FloatFormat
from ampcourse.low_precision.amax import scale_for
from ampcourse.low_precision.recipe import operand_format
from ampcourse.quantize import quantize

_FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def fake_quantize(
    x: torch.Tensor,
    fmt: str | None,
    axis: int = -1,
    *,
    scale: float | None = None,
    mode: str = "nearest_even",
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Return the numbers that a tensor becomes in a format of a recipe, in FP32.

    ``x`` is a tensor of FP32, FP16 or BF16 of any shape; ``fmt`` is what a Recipe names. With a
    block format the blocks run along ``axis``, the last one filled up with zeros. With one scale
    per tensor, x times the ``scale`` is rounded to the elements and clamped to their largest,
    then divided by the scale again, a power of two: by default scale_for x's own amax. A
    format without a scale is a plain cast, clamped where it has 8 bits or fewer. ``mode`` and
    ``generator`` hold for the elements, as in quantize.

    What is not finite: in blocks, the whole block becomes NaN (MX 1.0). With one scale per tensor
    an infinity is clamped, as by the GPU's saturating conversion, and a NaN stays.
    Raises ValueError for an unknown format and for a scale where the format makes its own, and
    TypeError for FP64, which would be rounded twice, and for integers.

    >>> x = torch.tensor([0.3, 5.0, 7.9, -100.0])
    >>> fake_quantize(x, "mxfp4").tolist()
    [0.0, 8.0, 8.0, -96.0]
    >>> fake_quantize(x, "per_tensor_e4m3").tolist()
    [0.3125, 5.0, 8.0, -96.0]
    """
    target = operand_format(fmt)
    if x.dtype not in _FLOATS:
        raise TypeError(f"cannot quantise {x.dtype}: take FP32, for example by x.float()")
    x = x.detach().float()
    blocked = isinstance(target, BlockScheme) and target.block is not None
    if scale is not None and (blocked or not isinstance(target, BlockScheme)):
        raise ValueError(f"scale = {scale!r} is of no use: {target.name} takes none from outside")
    if not isinstance(target, BlockScheme):
        return _cast(x, target, mode, generator)
    if blocked:
        return _in_blocks(x, target, axis, mode, generator)
    if scale is None:
        scale = scale_for(amax_of(x), target.element)
    element = target.element
    return quantize(x * scale, element, mode, "saturate", generator=generator) / scale


def _cast(
    x: torch.Tensor, fmt: FloatFormat, mode: str, generator: torch.Generator | None
) -> torch.Tensor:
    if fmt is FP32:
        return x
    overflow: Overflow = "saturate" if fmt.bits <= 8 else None
    return quantize(x, fmt, mode, overflow, generator=generator)


def amax_of(x: torch.Tensor) -> float:
    """Return a tensor's largest magnitude; NaN if it holds one, 0 if it is empty."""
    return float(x.detach().abs().amax()) if x.numel() else 0.0


def _in_blocks(
    x: torch.Tensor,
    scheme: BlockScheme,
    axis: int,
    mode: str,
    generator: torch.Generator | None,
) -> torch.Tensor:
    layout = make_layout(tuple(x.shape), scheme, axis, partial="pad")
    blocks = layout.split(x)
    amax = blocks.abs().amax(-1, keepdim=True)
    alive = amax.isfinite()
    if not alive.all():
        blocks, amax = blocks.where(alive, 0.0), amax.where(alive, 0.0)
    if scheme.scale == E8M0:
        scale = divisor = _power_of_two_scale(amax, scheme)
    else:
        # A quotient by such a scale is not exact in FP32; in FP64 it is exact enough to be
        # rounded once more.
        scale = _float_scale(amax.double(), scheme)
        blocks = blocks.double().where(scale > 0, 0.0)  # all zeros where the scale became 0
        divisor = scale.where(scale > 0, 1.0)
    elements = quantize(blocks / divisor, scheme.element, mode, "saturate", generator=generator)
    return layout.join((elements * scale.where(alive, float("nan"))).float())


def _power_of_two_scale(amax: torch.Tensor, scheme: BlockScheme) -> torch.Tensor:
    """Return 2^(floor(log2 amax) - emax), the rule of MX 1.0, within what E8M0 has."""
    floor_log2 = torch.frexp(amax).exponent - 1  # frexp's significand lies in [0.5, 1)
    exponent = (floor_log2 - scheme.element.emax).clamp(-E8M0.bias, E8M0.emax)
    return torch.ldexp(torch.ones_like(amax), exponent)


def _float_scale(amax: torch.Tensor, scheme: BlockScheme) -> torch.Tensor:
    """Return NVFP4's scale of each block, amax / 6 in E4M3, times the tensor's in FP32."""
    largest = float(scheme.element.max)
    whole = amax.amax() / (largest * float(scheme.scale.max)) if amax.numel() else amax.sum()
    tensor_scale = whole.float().double()
    tensor_scale = tensor_scale.where(tensor_scale > 0, 1.0)
    return (
        quantize(amax / (tensor_scale * largest), scheme.scale, overflow="saturate") * tensor_scale
    )
