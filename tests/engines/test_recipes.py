"""Which recipes an engine can do, and what it says of others."""

from __future__ import annotations

import pytest

from ampcourse.benchmark.recipes import BASES as ALL
from ampcourse.engines.command import main
from ampcourse.engines.recipes import BASES, recipe_for


@pytest.mark.parametrize("base", ALL)
def test_ddp_can_do_every_recipe_of_the_benchmark(base: str) -> None:
    assert recipe_for("ddp", f"{base}+nhwc").name == f"{base}+nhwc"


@pytest.mark.parametrize("engine", ["fsdp", "deepspeed"])
@pytest.mark.parametrize("text", ["O2", "fp16", "amp-fp16-ours", "amp-bf16+nhwc", "fp32+compile"])
def test_what_an_engine_cannot_do_is_refused_with_what_it_can(engine: str, text: str) -> None:
    with pytest.raises(ValueError, match=f"engine {engine} cannot do the recipe") as caught:
        recipe_for(engine, text)
    for base in BASES[engine] or ():
        assert base in str(caught.value)
        assert recipe_for(engine, base).base == base


def test_an_unknown_engine_and_recipe_are_refused() -> None:
    with pytest.raises(ValueError, match="'horovod' is unknown; choose from ddp, fsdp, deepspeed"):
        recipe_for("horovod", "fp32")
    with pytest.raises(ValueError, match="'amp-fp61' is unknown; did you mean 'amp-fp16'"):
        recipe_for("fsdp", "amp-fp61")


def test_the_command_says_so_and_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--engine", "deepspeed", "--recipe", "O1"]) == 2
    assert "it can do fp32, default, tf32, amp-fp16, amp-bf16" in capsys.readouterr().err
    assert main(["--steps", "0"]) == 2
    assert "--steps 0 trains nothing" in capsys.readouterr().err
