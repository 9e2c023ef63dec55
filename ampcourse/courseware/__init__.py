"""How lessons are written, built, checked and graded.

The names that a lesson's set-up cell imports are here; they need only the standard library.
"""

from math import inf, nan

from ampcourse.courseware.checks import check, progress, task
from ampcourse.courseware.matchers import between, number, one_of, raises, ulps

__all__ = [
    "between",
    "check",
    "inf",
    "nan",
    "number",
    "one_of",
    "progress",
    "raises",
    "task",
    "ulps",
]
