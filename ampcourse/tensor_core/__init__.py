"""What a Tensor Core computes, bit for bit, for nine GPUs and five input formats.

`configurations` says what each GPU does, `reference` does it one number at a time in exact
fractions, `mma` and `gemm` do it for arrays. Importing this package loads no numpy; the
functions on arrays do, when they are called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ampcourse.tensor_core.configurations import CONFIGURATIONS, Configuration, configuration
from ampcourse.tensor_core.reference import BlockTerms, Term, block_terms, dot_product

if TYPE_CHECKING:
    from ampcourse.tensor_core.arrays import gemm, mma, to_tf32

__all__ = [
    "CONFIGURATIONS",
    "BlockTerms",
    "Configuration",
    "Term",
    "block_terms",
    "configuration",
    "dot_product",
    "gemm",
    "mma",
    "to_tf32",
]


def __getattr__(name: str) -> Any:
    if name not in ("gemm", "mma", "to_tf32"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ampcourse.tensor_core import arrays

    return getattr(arrays, name)


def __dir__() -> list[str]:
    return sorted(__all__)
