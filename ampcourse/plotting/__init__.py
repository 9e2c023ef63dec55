"""Draw results: every function takes numbers and returns Axes; `show` puts one on the page."""

from ampcourse.plotting.page import figure_html, show
from ampcourse.plotting.style import new_axes, styled

__all__ = ["figure_html", "new_axes", "show", "styled"]
