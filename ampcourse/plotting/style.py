"""The one place for the course's colours, sizes and fonts: figures, widgets, decks and pages.

Style sheets and templates cannot import it; they repeat its colours and a test compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

P = ParamSpec("P")
R = TypeVar("R")


class Hue(NamedTuple):
    """A colour in its three shades; the rules that they keep are in .github/STYLE.md."""

    #: Lines, markers and fills on white: 3:1 at least (WCAG 1.4.11).
    light: str
    #: Text, and fills that carry white text, on white and on a panel: 4.5:1 (WCAG 1.4.3).
    text: str
    #: Both of these on a dark page, where fills carry the page's colour: 4.5:1.
    dark: str


#: The colours of Okabe and Ito (https://jfly.uni-koeln.de/color/) that reach 3:1 on white, each
#: with a darker and a lighter shade; `light` is theirs.
HUES: Mapping[str, Hue] = MappingProxyType(
    {
        "blue": Hue("#0072B2", "#00548A", "#62B9F0"),
        "vermillion": Hue("#D55E00", "#B34A00", "#FFA066"),
        "green": Hue("#009E73", "#007A59", "#6EEBC4"),
        "purple": Hue("#CC79A7", "#8F3A6D", "#F0A6D0"),
        "grey": Hue("#6B6B6B", "#5C5C5C", "#B4B8BD"),
        "ink": Hue("#1F1F1F", "#1F1F1F", "#F1F1EF"),
    }
)

#: What colours lie on and what divides it, light and dark. An edge is the border of a control;
#: a rule only orders the page and may be faint; pale is the fill of a blue outline.
SURFACES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "paper": ("#FFFFFF", "#15181C"),
        "panel": ("#F3F4F6", "#22272D"),
        "edge": ("#8A8A8A", "#8F8F8F"),
        "rule": ("#D9D9D9", "#454B52"),
        "pale": ("#A6CCE3", "#305066"),
    }
)

BLUE, VERMILLION, GREEN, PURPLE, GREY, INK = (hue.light for hue in HUES.values())
CARD, RULE, PALE = (SURFACES[name][0] for name in ("paper", "rule", "pale"))

#: Colour of each part of a float.
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

#: Sizes of a figure's letters in points; at `WIDTH`, 10 points are 13 pixels, as Lab's own text.
LETTERS: Mapping[str, int] = MappingProxyType({"text": 10, "title": 11, "small": 9})

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
        "axes.titlesize": LETTERS["title"],
        "axes.titlelocation": "left",
        "axes.titleweight": "bold",
        "grid.color": RULE,
        "grid.linewidth": 0.8,
        "xtick.color": INK,
        "ytick.color": INK,
        "text.color": INK,
        "font.size": LETTERS["text"],
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
        "legend.frameon": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "ampcourse",
    }
)

_FACTOR = ContextVar("letters", default=1.0)


@contextmanager
def lettering(factor: float) -> Iterator[None]:
    """Draw with letters `factor` times the usual size, as for a slide that is read from afar."""
    token = _FACTOR.set(factor)
    try:
        yield
    finally:
        _FACTOR.reset(token)


def settings() -> dict[str, object]:
    """Return `RC` with the letters' size of now."""
    sizes = {"font.size": LETTERS["text"], "axes.titlesize": LETTERS["title"]}
    return dict(RC) | {name: size * _FACTOR.get() for name, size in sizes.items()}


def small() -> float:
    """Return the size of a figure's smallest letters of now, in points."""
    return LETTERS["small"] * _FACTOR.get()


def text_shade(colour: str) -> str:
    """Return the shade for text, and for fills with white text, of one of this module's colours.

    Raises ValueError for another colour.
    """
    for hue in HUES.values():
        if colour in (hue.light, hue.text):
            return hue.text
    known = ", ".join(hue.light for hue in HUES.values())
    raise ValueError(f"{colour!r} is no colour of the course, which has {known}")


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
