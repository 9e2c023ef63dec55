"""Put a figure on the page together with words for those who cannot see it."""

from __future__ import annotations

import base64
import io
import re
from html import escape
from typing import TYPE_CHECKING

from ampcourse.plotting.style import settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


class _Picture:
    """What IPython displays: HTML where there is a front end, the alt text elsewhere."""

    def __init__(self, html: str, alt: str) -> None:
        self._html, self._alt = html, alt

    def __repr__(self) -> str:
        return self._alt

    def _repr_html_(self) -> str:
        return self._html


def show(ax_or_figure: Axes | Figure, alt: str) -> None:
    """Display a figure as SVG with `alt` as its text alternative.

    Takes Axes (the whole figure they sit on is shown) or a Figure. Where there is no
    notebook, the text alternative is printed. Raises ValueError for an empty `alt` and
    TypeError for anything that is not a figure.
    """
    picture = _Picture(figure_html(ax_or_figure, alt), " ".join(alt.split()))
    try:
        from IPython.display import display
    except ImportError:
        print(picture)
    else:
        display(picture)


def figure_html(ax_or_figure: Axes | Figure, alt: str) -> str:
    """Return the figure as one `<img>` element that holds its SVG.

    An image, not inline SVG: JupyterLab strips inline SVG from notebooks it does not trust,
    and two figures on a page would share element ids. The SVG brings its own light card,
    so it reads the same under a dark theme. Raises as `show` does.
    """
    text = _checked_alt(alt)
    svg = figure_svg(checked_figure(ax_or_figure))
    data = base64.b64encode(svg.encode()).decode()
    return (
        f'<img role="img" alt="{escape(text)}" src="data:image/svg+xml;base64,{data}" '
        'style="max-width: 100%; height: auto; border-radius: 6px">'
    )


def figure_svg(figure: Figure) -> str:
    """Return the figure as SVG text, the same text for the same figure every time."""
    import matplotlib
    from matplotlib import pyplot

    buffer = io.StringIO()
    with matplotlib.rc_context(settings()):  # type: ignore[arg-type]
        figure.savefig(buffer, format="svg", metadata=_NO_METADATA)
    pyplot.close(figure)  # else the inline backend would show it a second time, without alt
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    return re.sub(r"\s*\n\s*", "\n", svg).strip()


def _checked_alt(alt: str) -> str:
    if not isinstance(alt, str) or not alt.strip():
        raise ValueError(
            f"alt={alt!r} says nothing: describe in a sentence what the figure shows, "
            'for example show(ax, alt="Bars: fp16 takes half the bytes of fp32.")'
        )
    return " ".join(alt.split())


def checked_figure(ax_or_figure: Axes | Figure) -> Figure:
    """Return the figure that Axes sit on, or the figure itself; raise TypeError for others."""
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    figure = ax_or_figure.figure if isinstance(ax_or_figure, Axes) else ax_or_figure
    if isinstance(figure, Figure):
        return figure
    raise TypeError(
        f"show() got {type(ax_or_figure).__name__}; it takes matplotlib Axes or a Figure. "
        "A plotting call often returns a list of artists: pass the Axes it drew on."
    )
