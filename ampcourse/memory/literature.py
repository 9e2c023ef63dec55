"""The bytes per parameter that texts give for Adam, each with the assumptions that lead to it.

The figures are quoted; that the assumptions lead to them is computed by `ledger`. None of them is
wrong, and none is what torch's autocast does unless it says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from ampcourse.memory.ledger import RECIPES, Assumptions, Ledger, ledger

_MEGATRON = (
    "Megatron Core, guide of the distributed optimizer, table of theoretical bytes per parameter, "
    "https://docs.nvidia.com/megatron-core/developer-guide/latest/api-guide/dist_optimizer.html"
)


_ML_ENGINEERING = (
    "Bekman, Machine Learning Engineering, chapter on training performance, section on the anatomy "
    "of a model's memory usage, "
    "https://github.com/stas00/ml-engineering/blob/master/training/performance/README.md"
)


@dataclass(frozen=True)
class Figure:
    """A quoted number of bytes per parameter for Adam, whose it is, and what it assumes."""

    bytes: int
    name: str
    source: str
    assumptions: Assumptions
    #: What it leaves out or names differently from the ledger.
    remark: str = ""

    @property
    def ledger(self) -> Ledger:
        """The ledger of the same assumptions.

        >>> [figure.ledger.bytes_per_parameter for figure in FIGURES]
        [16, 16, 18, 18, 20]
        """
        return ledger("adam", self.assumptions)


_HALF = Assumptions("half", "half", master_weights=True)

#: Quoted figures, the smallest first.
FIGURES: tuple[Figure, ...] = (
    Figure(
        16,
        "all in FP32",
        _MEGATRON,
        RECIPES["fp32"],
        "What torch's autocast keeps, too: its weights, gradients and state are these.",
    ),
    Figure(
        16,
        "half weights and gradients, FP32 masters",
        "Rajbhandari et al., ZeRO, 2020, section 3.1, https://arxiv.org/abs/1910.02054",
        _HALF,
        "2 + 2 + 12: masters and Adam's two states together are what it calls K = 12. "
        "No FP32 copy of the gradients.",
    ),
    Figure(
        18,
        "half weights, FP32 gradients and masters",
        _MEGATRON,
        Assumptions("half", "fp32", master_weights=True),
        "Its gradients are added up in FP32, so that no copy of them is needed.",
    ),
    Figure(
        18,
        "FP32 weights with a half copy, FP32 gradients",
        _ML_ENGINEERING,
        RECIPES["autocast"],
        "6 + 4 + 8, the weights in two types. torch's autocast holds its half copies, too, but "
        "only until the backward pass has used them: 2 of the 18 pass.",
    ),
    Figure(
        20,
        "half and FP32 of weights and of gradients",
        _MEGATRON,
        RECIPES["O2"],
        "Apex O2 and our master weights, before zero_grad drops the half gradients.",
    ),
)
