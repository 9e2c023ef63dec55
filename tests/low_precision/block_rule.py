"""The block rules of MX 1.0 and NVFP4 once more, in numpy and ml_dtypes, from their texts.

Shares no code with the package: powers of two are found by comparing, elements by searching the
table of all of them, which ml_dtypes decodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

ELEMENTS = {
    "mxfp8_e4m3": ("float8_e4m3fn", 8),
    "mxfp8_e5m2": ("float8_e5m2", 15),
    "mxfp6_e3m2": ("float6_e3m2fn", 4),
    "mxfp6_e2m3": ("float6_e2m3fn", 2),
    "mxfp4": ("float4_e2m1fn", 2),
}


class Blocks(NamedTuple):
    """Codes of the scales and the elements, and the numbers they stand for, in float64."""

    scales: np.ndarray
    elements: np.ndarray
    values: np.ndarray


def mx_blocks(x: np.ndarray, name: str) -> Blocks:
    """Quantise finite float32 numbers of shape (blocks, 32) by MX 1.0, section 6.3."""
    dtype, emax = ELEMENTS[name]
    powers = np.ldexp(1.0, np.arange(-127, 128))
    amax = np.abs(x).max(1).astype(np.float64)
    # The largest power of two not above amax, over the largest one of the elements.
    reached = powers * 2.0**emax <= amax[:, None]
    scales = np.where(reached.any(1), reached.sum(1) - 1, 0)
    scaled = x.astype(np.float64) / powers[scales][:, None]
    elements, values = nearest_elements(scaled, dtype)
    return Blocks(scales, elements, values * powers[scales][:, None])


def nvfp4_blocks(x: np.ndarray) -> tuple[np.float32, Blocks]:
    """Quantise finite float32 numbers of shape (blocks, 16) by NVFP4 (arXiv 2509.25149).

    The tensor's scale takes its amax to 6 x 448; each block's scale takes the block's amax to
    6, over the tensor's scale, in E4M3.
    """
    import ml_dtypes

    amax = np.abs(x).max(1).astype(np.float64)
    overall = np.float32(amax.max() / (6 * 448))
    coded = (amax / 6 / float(overall)).astype(ml_dtypes.float8_e4m3fn)
    scale = coded.astype(np.float64) * float(overall)
    alive = scale > 0
    scaled = np.where(alive[:, None], x / np.where(alive, scale, 1)[:, None], 0)
    elements, values = nearest_elements(scaled, "float4_e2m1fn")
    return overall, Blocks(coded.view(np.uint8), elements, values * scale[:, None])


def nearest_elements(x: np.ndarray, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Return codes and values of the nearest elements, ties to the even code, by search."""
    import ml_dtypes

    bits = {"float4": 4, "float6": 6, "float8": 8}[dtype[:6]]
    codes = np.arange(2 ** (bits - 1), dtype=np.uint8)
    table = codes.view(getattr(ml_dtypes, dtype)).astype(np.float64)
    codes, table = codes[np.isfinite(table)], table[np.isfinite(table)]
    distance = np.abs(np.abs(x)[..., None] - table)
    close = distance == distance.min(-1, keepdims=True)
    chosen = np.where(close & (codes % 2 == 0), 2, close).argmax(-1)
    sign = np.signbit(x)
    return codes[chosen] + (sign << (bits - 1)), np.where(sign, -1, 1) * table[chosen]
