"""The table of block schemes, and the names and choices it answers to."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ampcourse.blocks import SCHEMES, BlockScheme, get_scheme
from ampcourse.blocks.rule import block_rule
from ampcourse.formats import E2M1, E4M3, E8M0


def test_mx_schemes_have_the_elements_blocks_and_scales_of_gfloat() -> None:
    formats = pytest.importorskip("gfloat.formats")
    theirs = {
        "mxfp8_e4m3": formats.format_info_mxfp8_e4m3,
        "mxfp8_e5m2": formats.format_info_mxfp8_e5m2,
        "mxfp6_e3m2": formats.format_info_mxfp6_e3m2,
        "mxfp6_e2m3": formats.format_info_mxfp6_e2m3,
        "mxfp4": formats.format_info_mxfp4_e2m1,
    }
    for name, info in theirs.items():
        scheme = SCHEMES[name]
        assert (scheme.block, scheme.element.bits, scheme.scale.bits) == (
            info.k, info.element_bits, info.scale_bits)  # fmt: skip
        assert float(scheme.element.max) == info.etype.max
        assert scheme.bits_per_value * 32 == info.block_size_bytes * 8


def test_nvfp4_is_sixteen_e2m1_under_an_e4m3_scale_and_a_scale_for_the_tensor() -> None:
    scheme = get_scheme("NVFP4")
    assert (scheme.element, scheme.scale, scheme.block) == (E2M1, E4M3, 16)
    assert scheme.tensor_scale
    assert scheme.bits_per_value == 4.5


def test_per_tensor_is_short_for_e4m3() -> None:
    assert get_scheme("per_tensor") is SCHEMES["per_tensor_e4m3"]


def test_a_scheme_of_ones_own_is_taken_as_it_is() -> None:
    scheme = BlockScheme("fp4 over 128", E2M1, E8M0, block=128)
    assert get_scheme(scheme) is scheme
    assert scheme.bits_per_value == 4 + 8 / 128


def test_bad_schemes_are_refused() -> None:
    with pytest.raises(ValueError, match="did you mean 'mxfp4'"):
        get_scheme("mxpf4")
    with pytest.raises(ValueError, match="block = 0 is below 1"):
        BlockScheme("none", E2M1, E8M0, block=0)
    with pytest.raises(ValueError, match="e8m0 has no sign"):
        BlockScheme("upside down", E8M0, E8M0, block=32)


@pytest.mark.parametrize(
    ("scheme", "choice", "message"),
    [
        ("mxfp4", {"scale_rule": "flor"}, "did you mean 'floor'"),
        ("mxfp4", {"scale_rule": "nearest"}, "one of floor, ceil, even, fit"),
        ("nvfp4", {"scale_rule": "floor"}, "one of nearest, up"),
        ("mxfp4", {"zero_scale": "zero"}, "one of smallest, one"),
        ("nvfp4", {"nonfinite": "drop"}, "one of block, element, error"),
        ("nvfp4", {"partial": "wrap"}, "one of error, pad"),
    ],
)
def test_a_choice_that_the_scheme_does_not_have_is_refused_with_those_it_has(
    scheme: str, choice: dict[str, str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        block_rule(SCHEMES[scheme], **choice)


def test_the_scalar_reference_needs_no_numpy() -> None:
    code = "from ampcourse.blocks import quantize_block; import sys; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
