"""The one place for colours, sizes and fonts of the course's figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

P = ParamSpec("P")
R = TypeVar("R")

# Okabe-Ito colours that reach 3:1 against white; each use adds a second cue (text, marker, edge).
BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
INK = "#1F1F1F"
GREY = "#6B6B6B"
RULE = "#D9D9D9"
CARD = "#FFFFFF"

#: Colour of each part of a float, as in the explorer (widgets/static).
PARTS: Mapping[str, str] = MappingProxyType(
    {"sign": VERMILLION, "exponent": BLUE, "significand": GREEN}
)

#: Colour of each format: a hue per family, told apart inside it by `FORMAT_MARKERS`.
FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "fp64": INK,
        "fp32": GREY,
        "tf32": GREY,
        "fp16": BLUE,
        "bf16": VERMILLION,
        "e5m2": GREEN,
        "e4m3": GREEN,
        "e3m2": PURPLE,
        "e2m3": PURPLE,
        "e2m1": PURPLE,
        "e8m0": INK,
    }
)

#: Marker of each format, so that no figure depends on colour alone.
FORMAT_MARKERS: Mapping[str, str] = MappingProxyType(
    {
        "fp64": "s",
        "fp32": "o",
        "tf32": "D",
        "fp16": "^",
        "bf16": "v",
        "e5m2": "<",
        "e4m3": ">",
        "e3m2": "P",
        "e2m3": "X",
        "e2m1": "*",
        "e8m0": "d",
    }
)

#: Width of a figure in inches: 672 CSS pixels, the text column of a notebook.
WIDTH = 7.0
HEIGHT = 3.0

#: matplotlib settings. `svg.fonttype: none` keeps text as text: small files, any language.
RC: Mapping[str, object] = MappingProxyType(
    {
        "figure.facecolor": CARD,
        "axes.facecolor": CARD,
        "axes.edgecolor": GREY,
        "axes.labelcolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "axes.titleweight": "bold",
        "grid.color": RULE,
        "grid.linewidth": 0.8,
        "xtick.color": INK,
        "ytick.color": INK,
        "text.color": INK,
        "font.size": 10,
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
        "legend.frameon": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "ampcourse",
    }
)

_LETTERS = ContextVar("letters", default=1.0)


@contextmanager
def lettering(factor: float) -> Iterator[None]:
    """Draw with letters `factor` times the usual size, as for a slide that is read from afar."""
    token = _LETTERS.set(factor)
    try:
        yield
    finally:
        _LETTERS.reset(token)


def settings() -> dict[str, object]:
    """Return `RC` with the letters' size of now."""
    sizes = {"font.size": 10, "axes.titlesize": 11}
    return dict(RC) | {name: size * _LETTERS.get() for name, size in sizes.items()}


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Decorate a drawing function: all it draws follows `RC`.

    matplotlib reads some settings only when a thing is drawn (titles, legends, grids), so
    styling the Axes alone would leave those in matplotlib's own style.
    """

    @wraps(draw)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        import matplotlib

        with matplotlib.rc_context(settings()):  # type: ignore[arg-type]
            return draw(*args, **kwargs)

    return wrapper


@styled
def new_axes(width: float = WIDTH, height: float = HEIGHT) -> Axes:
    """Return empty Axes on a figure of `width` × `height` inches in the course's style.

    The figure is made without pyplot, so nothing but `show` ever displays it.
    """
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").add_subplot()
