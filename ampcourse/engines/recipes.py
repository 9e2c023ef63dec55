"""Which of the benchmark's recipes each engine can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ampcourse.benchmark.recipes import Recipe

#: Engine → the bases of recipes it can do; None: all that the benchmark has.
BASES: dict[str, tuple[str, ...] | None] = {
    "ddp": None,
    "fsdp": ("fp32", "default", "tf32", "amp-fp16", "amp-bf16"),
    "deepspeed": ("fp32", "default", "tf32", "amp-fp16", "amp-bf16"),
}

#: Engine → options that may follow a base. FSDP2 and DeepSpeed take parameters apart as they lie
#: in memory, which rules channels-last weights out; compiling both is another subject.
OPTIONS: dict[str, tuple[str, ...]] = {
    "ddp": ("nhwc", "compile", "checkpoint"),
    "fsdp": (),
    "deepspeed": (),
}

ENGINES = tuple(BASES)


def recipe_for(engine: str, text: str) -> Recipe:
    """Return the recipe of a text such as "amp-bf16", if the engine can do it.

    Under "fsdp" and "deepspeed", amp-fp16 and amp-bf16 mean 16-bit copies of FP32 weights for the
    forward and backward pass, made by the engine, instead of autocast. Raises ValueError, listing
    what the engine can do, for another one, and for an unknown engine or recipe.
    """
    from ampcourse.benchmark.recipes import BASES as ALL
    from ampcourse.benchmark.recipes import parse

    if engine not in BASES:
        raise ValueError(f"engine {engine!r} is unknown; choose from {', '.join(ENGINES)}")
    recipe = parse(text)
    bases, options = BASES[engine] or tuple(ALL), OPTIONS[engine]
    given = recipe.name.split("+")[1:]
    if recipe.base in bases and set(given) <= set(options):
        return recipe
    after = f", then any of +{', +'.join(options)}" if options else ", without options"
    raise ValueError(
        f"the engine {engine} cannot do the recipe {recipe.name}; it can do "
        f"{', '.join(bases)}{after}. The engine ddp can do all of them"
    )
