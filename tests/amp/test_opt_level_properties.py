"""The table of the levels is Apex's, and so is what contradicts a level."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError, asdict
from typing import Any

import pytest
import torch
from torch import nn

from ampcourse.amp import opt_levels as amp
from ampcourse.amp.opt_levels import properties
from ampcourse.amp.opt_levels.properties import PROPERTIES, properties_for

# NVIDIA/apex, apex/amp/frontend.py at dec4fdd6: what the classes O0, O1, O2 and O3 set.
APEX = {
    "O0": ("float32", False, None, False, 1.0),
    "O1": (None, True, None, None, "dynamic"),
    "O2": ("float16", False, True, True, "dynamic"),
    "O3": ("float16", False, False, False, 1.0),
}
COLUMNS = (
    "cast_model_type",
    "patch_torch_functions",
    "keep_batchnorm_fp32",
    "master_weights",
    "loss_scale",
)


def test_docstring_examples_hold() -> None:
    result = doctest.testmod(properties)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("level", APEX)
def test_each_level_has_apexs_defaults(level: str) -> None:
    found = asdict(PROPERTIES[level])
    assert tuple(found[column] for column in COLUMNS) == APEX[level]
    assert found["opt_level"] == level
    assert found["enabled"] is True


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        PROPERTIES["O1"].loss_scale = 1.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        PROPERTIES["O4"] = PROPERTIES["O1"]  # type: ignore[index]


def test_the_table_needs_no_torch() -> None:
    code = (
        "from ampcourse.amp import opt_levels as amp; amp.PROPERTIES['O2']; dir(amp)\n"
        "from ampcourse.amp.porting import PORTING, which_apex; which_apex()\n"
        "import sys; sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_is_there_and_no_other() -> None:
    for name in amp.__all__:
        assert getattr(amp, name) is not None
    with pytest.raises(AttributeError, match="init"):
        amp.init  # noqa: B018


@pytest.mark.parametrize("level", ["01", "00", "o1", "O4", "", None, 1, "O1 "])
def test_an_unknown_level_is_told_that_its_first_character_is_a_letter(level: Any) -> None:
    with pytest.raises(RuntimeError, match="the letter O, not the digit zero") as error:
        amp.initialize(nn.Linear(1, 1), opt_level=level, verbosity=0)
    assert repr(level) in str(error.value)


@pytest.mark.parametrize("level", ["O2", "O3"])
@pytest.mark.parametrize(
    ("given", "kept"), [("True", True), ("False", False), (True, True), (False, False)]
)
def test_keep_batchnorm_fp32_may_be_text_as_from_a_command_line(
    level: str, given: bool | str, kept: bool
) -> None:
    assert properties_for(level, keep_batchnorm_fp32=given).keep_batchnorm_fp32 is kept


@pytest.mark.parametrize("given", ["None", "true", "yes", 1, 0, 2.0, []])
def test_keep_batchnorm_fp32_may_be_no_other_text_or_number(given: Any) -> None:
    with pytest.raises(AssertionError, match=re.escape(f"keep_batchnorm_fp32={given!r}")):
        properties_for("O2", keep_batchnorm_fp32=given)


# frontend.py, Properties.__setattr__: what it hands to warn_or_err, which raises RuntimeError.
CONTRADICTIONS = [
    ("O1", {"keep_batchnorm_fp32": True}),
    ("O1", {"keep_batchnorm_fp32": False}),
    ("O1", {"keep_batchnorm_fp32": "True"}),
    ("O1", {"master_weights": True}),
    ("O1", {"master_weights": False}),
    ("O1", {"cast_model_type": torch.float16}),
    ("O0", {"patch_torch_functions": True}),
    ("O2", {"patch_torch_functions": True}),
    ("O3", {"patch_torch_functions": True}),
]


@pytest.mark.parametrize(("level", "override"), CONTRADICTIONS)
def test_what_contradicts_a_level_is_an_error_that_names_both(
    level: str, override: dict[str, Any]
) -> None:
    (name, value), *_ = override.items()
    with pytest.raises(RuntimeError) as error:
        amp.initialize(nn.Linear(1, 1), opt_level=level, verbosity=0, **override)
    assert f"{name}={value}" in str(error.value)
    assert level in str(error.value) or "O1" in str(error.value)


ALLOWED = [
    ("O1", {"cast_model_type": False}, None),
    ("O1", {"cast_model_type": torch.float32}, "float32"),
    ("O1", {"patch_torch_functions": False}, False),
    ("O2", {"patch_torch_functions": False}, False),
    ("O2", {"master_weights": False}, False),
    ("O3", {"master_weights": True}, True),
    ("O3", {"keep_batchnorm_fp32": "True"}, True),
    ("O0", {"loss_scale": "dynamic"}, "dynamic"),
    ("O1", {"loss_scale": "128.0"}, 128.0),
    ("O2", {"loss_scale": 1024}, 1024.0),
    ("O2", {"cast_model_type": torch.bfloat16}, "bfloat16"),
]


@pytest.mark.parametrize(("level", "override", "becomes"), ALLOWED)
def test_other_overrides_replace_one_property_and_no_other(
    level: str, override: dict[str, Any], becomes: Any
) -> None:
    ((name, value),) = override.items()
    expected = asdict(PROPERTIES[level]) | {name: becomes}
    assert asdict(properties_for(level, **{name: value})) == expected


def test_none_overrides_nothing() -> None:
    for level in PROPERTIES:
        assert properties_for(level, **dict.fromkeys(COLUMNS)) == PROPERTIES[level]


@pytest.mark.parametrize("scale", [0, -1.0, float("inf"), float("nan"), "0"])
def test_a_loss_scale_that_is_no_positive_number_is_refused(scale: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(f"loss_scale={scale!r}")):
        properties_for("O2", loss_scale=scale)


def test_a_loss_scale_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="dynamics"):
        properties_for("O2", loss_scale="dynamics")
