"""Find out what is wrong with a mixed-precision training step: come with a NaN, leave with a cause.

>>> from ampcourse.diagnose import watch          # doctest: +SKIP
>>> with watch(model, optimizer, scaler) as report:  # doctest: +SKIP
...     train_one_step()
>>> print(report)                                 # doctest: +SKIP

`watch` looks at whatever runs inside it, `diagnose(model, step)` calls one step and returns what
it found, and `ampcourse diagnose script.py` runs a whole script so. Importing this package loads
no torch; the names below load it when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ampcourse.diagnose.finding import Finding
    from ampcourse.diagnose.report import Report
    from ampcourse.diagnose.watching import LiveReport, diagnose, watch

_HOMES = {
    "Finding": "finding",
    "Report": "report",
    "LiveReport": "watching",
    "diagnose": "watching",
    "watch": "watching",
}

__all__ = ["Finding", "LiveReport", "Report", "diagnose", "watch"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
