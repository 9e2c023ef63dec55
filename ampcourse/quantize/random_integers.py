"""Random integers for stochastic rounding, from the library that the numbers come from."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ampcourse.quantize.array_ops import Array


def draw(generator: Any, random_bits: int, like: Array, width: int) -> Array | None:
    """Draw one integer of so many bits for each element, or None for 0 bits.

    For a numpy array the generator is a numpy.random.Generator (None: a new one, seeded by the
    system); for a tensor a torch.Generator of its device (None: torch's own, which
    torch.manual_seed seeds). Others raise TypeError.
    """
    if not random_bits:
        return None
    if isinstance(like, np.ndarray):
        return _draw_numpy(generator, random_bits, len(like), width)
    return _draw_torch(generator, random_bits, like, width)


def _draw_numpy(generator: Any, random_bits: int, count: int, width: int) -> Array:
    generator = np.random.default_rng() if generator is None else generator
    if not hasattr(generator, "integers"):
        raise TypeError(_wrong_generator(generator, "numpy array", "numpy.random.default_rng(1)"))
    integers = generator.integers(0, 1 << random_bits, count, dtype=np.uint32)
    return integers.astype(np.int32 if width == 32 else np.int64)


def _draw_torch(generator: Any, random_bits: int, like: Array, width: int) -> Array:
    torch = sys.modules["torch"]
    if not isinstance(generator, (torch.Generator, type(None))):
        advice = "torch.Generator(tensor.device).manual_seed(1)"
        raise TypeError(_wrong_generator(generator, "torch tensor", advice))
    return torch.randint(
        1 << random_bits,
        like.shape,
        generator=generator,
        dtype=torch.int32 if width == 32 else torch.int64,
        device=like.device,
    )


def _wrong_generator(generator: Any, what: str, advice: str) -> str:
    return (
        f"{generator!r} ({type(generator).__name__}) draws no numbers for a {what}; give "
        f"generator={advice}, or None"
    )
