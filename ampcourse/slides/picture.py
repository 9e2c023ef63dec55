"""Put a figure into a slide: inline SVG that takes the slide's colours and has a name."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from ampcourse.plotting import style
from ampcourse.plotting.page import checked_figure, figure_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inside an SVG these are replaced by variables of theme.css, so that dark slides have dark figures.
_COLOURS = (
    {hue.text: f"--{name}-text" for name, hue in style.HUES.items()}
    | {hue.light: f"--{name}" for name, hue in style.HUES.items()}
    | {light: f"--{name}" for name, (light, _) in style.SURFACES.items()}
)


def inline_svg(ax_or_figure: Axes | Figure, alt: str, prefix: str) -> str:
    """Return the figure as an `<svg role="img">` that is called `alt`.

    `prefix` sets its element ids apart from those of the deck's other figures: a reference into
    a slide that is not shown would come to nothing. Raises ValueError for an empty `alt`.
    """
    text = " ".join(alt.split())
    if not text:
        raise ValueError("alt='' says nothing: describe in a sentence what the figure shows")
    svg = figure_svg(checked_figure(ax_or_figure))
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, flags=re.S)
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'(xlink:href="|url\()#', rf"\1#{prefix}-", svg)
    for colour, variable in _COLOURS.items():
        svg = re.sub(rf"{colour}\b", f"var({variable})", svg, flags=re.I)
    opening, rest = svg.split(">", 1)
    opening = re.sub(r' (width|height)="[^"]*"', "", opening)  # the slide decides how large
    name = f'<svg role="img" aria-label="{escape(text)}" '
    return opening.replace("<svg ", name, 1) + ">" + rest
