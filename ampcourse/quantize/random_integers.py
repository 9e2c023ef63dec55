"""Random integers for stochastic rounding, from the library that the numbers come from."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ampcourse.quantize.array_ops import Array, is_tensor

#: From a count and a width, 32 or 64, to that many signed integers of that width, whose lowest
#: bits are the random ones; None where none are needed.
IntegerSource = Callable[[int, int], Array | None]


def integer_source(x: Array, random_bits: int, generator: Any) -> IntegerSource:
    """Return where the kernel gets its random integers of so many bits from.

    For a numpy array the generator is a numpy.random.Generator (None: a new one, seeded by the
    system); for a tensor a torch.Generator of its device (None: torch's own, which
    torch.manual_seed seeds). Others raise TypeError.
    """
    if not random_bits:
        return lambda count, width: None
    if is_tensor(x):
        return _torch_source(x.device, random_bits, generator)
    return _numpy_source(random_bits, generator)


def _numpy_source(random_bits: int, generator: Any) -> IntegerSource:
    generator = np.random.default_rng() if generator is None else generator
    if not hasattr(generator, "integers"):
        raise TypeError(_wrong_generator(generator, "numpy array", "numpy.random.default_rng(1)"))

    def draw(count: int, width: int) -> Array:
        integers = generator.integers(0, 1 << random_bits, count, dtype=np.uint32)
        return integers.astype(np.int32 if width == 32 else np.int64)

    return draw


def _torch_source(device: Any, random_bits: int, generator: Any) -> IntegerSource:
    torch: Any = sys.modules["torch"]
    if not isinstance(generator, (torch.Generator, type(None))):
        advice = "torch.Generator(x.device).manual_seed(1)"
        raise TypeError(_wrong_generator(generator, "torch tensor", advice))

    def draw(count: int, width: int) -> Array:
        integers = torch.randint(
            1 << random_bits,
            (count,),
            generator=generator,
            dtype=torch.int32 if random_bits < 32 else torch.int64,
            device=device,
        ).to(torch.int32 if width == 32 else torch.int64)
        return integers.numpy() if device.type == "cpu" else integers

    return draw


def _wrong_generator(generator: Any, what: str, advice: str) -> str:
    return (
        f"{generator!r} ({type(generator).__name__}) draws no numbers for a {what}; give "
        f"generator={advice}, or None"
    )
