"""Where the values of a tensor or a model lie, and what a narrow format makes of them."""

from ampcourse.dynamic_range.boundaries import Boundaries, Boundary, boundaries
from ampcourse.dynamic_range.histogram import ExponentHistogram, exponent_histogram
from ampcourse.dynamic_range.recorder import KINDS, GradientRecorder
from ampcourse.dynamic_range.report import CLASSES, RangeReport, range_report
from ampcourse.dynamic_range.scale import best_power_of_two_scale, headroom
from ampcourse.dynamic_range.table import RangeRow, RangeTable, model_report
from ampcourse.dynamic_range.window import Bar, ScaledView, scaled_view

__all__ = [
    "CLASSES",
    "KINDS",
    "Bar",
    "Boundaries",
    "Boundary",
    "ExponentHistogram",
    "GradientRecorder",
    "RangeReport",
    "RangeRow",
    "RangeTable",
    "ScaledView",
    "best_power_of_two_scale",
    "boundaries",
    "exponent_histogram",
    "headroom",
    "model_report",
    "range_report",
    "scaled_view",
]
