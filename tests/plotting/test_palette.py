"""The course's colours can be told from the page and from each other, with any eyes.

Contrast is WCAG 2.2's (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio). Colour blindness is
simulated as of Machado, Oliveira and Fernandes (2009, https://doi.org/10.1109/TVCG.2009.113) by
colorspacious, which has differences of colours in CAM02-UCS, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import pytest
from matplotlib.colors import rgb_to_hsv, to_rgb

from ampcourse.plotting.style import FORMATS, HUES, PARTS, SURFACES

SHADES = ("light", "text", "dark")
GRAPHIC, TEXT = 3.0, 4.5
# JupyterLab's own surfaces (jp-layout-color1 and 2 of its two themes), on which widgets lie.
LAB_LIGHT, LAB_DARK = ("#FFFFFF", "#EEEEEE"), ("#212121", "#424242")
PAGES = {
    "light": SURFACES["paper"][:1],
    "text": (SURFACES["paper"][0], SURFACES["panel"][0], *LAB_LIGHT),
    "dark": (SURFACES["paper"][1], SURFACES["panel"][1], *LAB_DARK),
}
EYES = ("protanomaly", "deuteranomaly", "tritanomaly")
# Differences in CAM02-UCS. 10 is a difference at a glance; where a name or a marker stands beside
# the colour, as always for formats, one that is seen side by side will do.
AT_A_GLANCE, BESIDE = 10.0, 4.0


def luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True)))


def contrast(one: str, other: str) -> float:
    dim, bright = sorted((luminance(one), luminance(other)))
    return (bright + 0.05) / (dim + 0.05)


def differences(one: str, other: str) -> dict[str, float]:
    """Return how far two colours lie apart for each kind of eyes."""
    science: Any = pytest.importorskip("colorspacious", reason="needs the test extra")
    colours = [to_rgb(one), to_rgb(other)]
    found = {"all cones": science.deltaE(*colours, input_space="sRGB1")}
    for eyes in EYES:
        space = {"name": "sRGB1+CVD", "cvd_type": eyes, "severity": 100}
        seen = [science.cspace_convert(colour, space, "sRGB1").clip(0, 1) for colour in colours]
        found[eyes] = science.deltaE(*seen, input_space="sRGB1")
    return {eyes: float(far) for eyes, far in found.items()}


def shades(colours: Mapping[str, str], shade: str) -> list[str]:
    """Return the different colours of a mapping in one of their shades, by hue."""
    hues = [hue for hue in HUES.values() if hue.light in colours.values()]
    return [getattr(hue, shade) for hue in hues]


def test_contrast_is_21_of_black_on_white_and_parts_the_greys_where_it_should() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    # Of the greys, #767676 is the lightest that may be text on white.
    assert contrast("#767676", "#FFFFFF") > TEXT > contrast("#777777", "#FFFFFF")


@pytest.mark.parametrize("shade", SHADES)
@pytest.mark.parametrize("name", HUES)
def test_a_shade_reaches_the_contrast_of_what_it_is_for(name: str, shade: str) -> None:
    least = GRAPHIC if shade == "light" else TEXT
    for page in PAGES[shade]:
        assert contrast(getattr(HUES[name], shade), page) >= least, (shade, page)


def test_grey_and_ink_are_text_in_every_shade() -> None:
    for name in ("grey", "ink"):
        assert contrast(HUES[name].light, SURFACES["paper"][0]) >= TEXT


@pytest.mark.parametrize("name", HUES)
def test_a_fill_carries_the_pages_colour_as_text(name: str) -> None:
    assert contrast(HUES[name].text, SURFACES["paper"][0]) >= TEXT
    assert contrast(HUES[name].dark, SURFACES["paper"][1]) >= TEXT


def test_the_edge_of_a_control_is_seen_in_light_and_dark() -> None:
    light, dark = SURFACES["edge"]
    assert contrast(light, SURFACES["paper"][0]) >= GRAPHIC
    assert contrast(dark, SURFACES["paper"][1]) >= GRAPHIC
    assert contrast(dark, LAB_DARK[0]) >= GRAPHIC


def test_a_pale_fill_leaves_its_outline_and_the_text_on_it_to_be_seen() -> None:
    for place, shade in enumerate(("light", "dark")):
        assert contrast(SURFACES["pale"][place], HUES["ink"][2 * place]) >= TEXT
        assert contrast(SURFACES["pale"][place], getattr(HUES["blue"], shade)) >= GRAPHIC


@pytest.mark.parametrize("name", ["blue", "vermillion", "green", "purple"])
def test_the_shades_of_a_hue_are_one_hue(name: str) -> None:
    angles = [360 * rgb_to_hsv(to_rgb(colour))[0] for colour in HUES[name]]
    assert max(angles) - min(angles) <= 6


@pytest.mark.parametrize("shade", SHADES)
def test_the_parts_of_a_float_are_told_apart_at_a_glance_with_any_eyes(shade: str) -> None:
    assert len(shades(PARTS, shade)) == len(PARTS) == 3
    for pair in combinations(shades(PARTS, shade), 2):
        assert min(differences(*pair).values()) >= AT_A_GLANCE, pair


@pytest.mark.parametrize("shade", SHADES)
def test_fp32_fp16_and_bf16_are_told_apart_at_a_glance_with_any_eyes(shade: str) -> None:
    chosen = {name: FORMATS[name] for name in ("fp32", "fp16", "bf16")}
    assert len(shades(chosen, shade)) == 3
    for pair in combinations(shades(chosen, shade), 2):
        assert min(differences(*pair).values()) >= AT_A_GLANCE, pair


@pytest.mark.parametrize("shade", SHADES)
def test_all_formats_colours_are_told_apart_beside_each_other_with_any_eyes(shade: str) -> None:
    for pair in combinations(shades(FORMATS, shade), 2):
        assert min(differences(*pair).values()) >= BESIDE, pair
