"""The recipes of the benchmark, by name: arithmetic, layout, compiler, checkpointing.

`amp-fp16+nhwc+compile+checkpoint` is one of them; without a word after the first, images lie with
channels first (NCHW), nothing is compiled, and all activations are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from ampcourse.benchmark.layers import RECIPES


@dataclass(frozen=True)
class Base:
    """What a recipe computes in.

    `arithmetic` is its name in `layers.RECIPES`, for its limit. `tf32` is how FP32 convolutions
    and matrix products run: "ieee", "tf32", or "default" for what torch does unless told.
    `scaler` is whose loss scale it uses: "torch", "ours", "apex" or none.
    """

    arithmetic: str
    says: str
    tf32: str = "ieee"
    autocast: str = ""
    level: str = ""
    scaler: str = ""

    @property
    def needs_fp16(self) -> bool:
        """Whether matrix products run in FP16, which most CPUs have no units for."""
        return RECIPES[self.arithmetic].half == "fp16"


BASES = {
    "fp32": Base("fp32", "FP32 throughout, TF32 off"),
    "default": Base("default", "what torch does unless told: TF32 in convolutions", "default"),
    "tf32": Base("tf32", "FP32 with TF32 in convolutions and matrix products", "tf32"),
    "amp-fp16": Base(
        "amp-fp16", "autocast to FP16, torch's GradScaler", autocast="float16", scaler="torch"
    ),
    "amp-fp16-ours": Base(
        "amp-fp16", "autocast to FP16, this course's GradScaler", autocast="float16", scaler="ours"
    ),
    "amp-bf16": Base("amp-bf16", "autocast to BF16", autocast="bfloat16"),
    "O1": Base("amp-fp16", "Apex's O1: casts around functions", level="O1", scaler="apex"),
    "O2": Base("O2", "Apex's O2: FP16 model, FP32 masters", level="O2", scaler="apex"),
    "O3": Base("fp16", "Apex's O3: FP16 throughout", level="O3"),
    "fp16": Base("fp16", "FP16 throughout, no scale, no masters"),
}

_OPTIONS = ("nchw", "nhwc", "compile", "checkpoint")


@dataclass(frozen=True)
class Recipe:
    """One way to train: a base of BASES, "NCHW" or "NHWC", compiled or not, checkpointing or not.

    >>> str(parse("AMP-FP16+channels_last+compile"))
    'amp-fp16+nhwc+compile'
    """

    base: str
    layout: str = "NCHW"
    compiled: bool = False
    checkpointing: bool = False

    def __post_init__(self) -> None:
        if self.base not in BASES:
            raise ValueError(f"base={self.base!r} is unknown; choose from {', '.join(BASES)}")
        if self.layout not in ("NCHW", "NHWC"):
            raise ValueError(f"layout={self.layout!r} is unknown; choose NCHW or NHWC")

    @property
    def name(self) -> str:
        """The canonical text, which `parse` reads."""
        words = [self.base]
        words += ["nhwc"] if self.layout == "NHWC" else []
        words += ["compile"] if self.compiled else []
        words += ["checkpoint"] if self.checkpointing else []
        return "+".join(words)

    def __str__(self) -> str:
        return self.name

    @property
    def rule(self) -> Base:
        """What its base computes in."""
        return BASES[self.base]

    @property
    def arithmetic(self) -> str:
        """The recipe's name in `layers.RECIPES`, for its limit."""
        return self.rule.arithmetic


def parse(text: str) -> Recipe:
    """Return the recipe of a text such as "amp-fp16+nhwc+compile", in any case.

    Raises ValueError, naming what there is, for a base or an option that is unknown or given twice.
    """
    first, *options = [word.strip() for word in text.split("+")]
    base = _base(first, text)
    found = []
    for option in options:
        word = option.lower().replace("channels_last", "nhwc").replace("compiled", "compile")
        word = "checkpoint" if word == "checkpointing" else word
        if word not in _OPTIONS:
            raise ValueError(
                f"recipe {text!r}: {option!r} is no option; after the base come any of "
                f"+{', +'.join(_OPTIONS)}"
            )
        found.append(word)
    if len(set(found)) < len(found) or {"nchw", "nhwc"} <= set(found):
        raise ValueError(f"recipe {text!r} says one thing twice; give each option once")
    layout = "NHWC" if "nhwc" in found else "NCHW"
    return Recipe(base, layout, "compile" in found, "checkpoint" in found)


def _base(word: str, text: str) -> str:
    by_lower = {name.lower(): name for name in BASES}
    if word.lower() in by_lower:
        return by_lower[word.lower()]
    close = get_close_matches(word.lower(), by_lower, n=1)
    suggestion = f" did you mean {by_lower[close[0]]!r}?" if close else ""
    raise ValueError(
        f"recipe {text!r}: {word!r} is unknown;{suggestion} choose from {', '.join(BASES)}, then "
        f"any of +{', +'.join(_OPTIONS)}"
    )
