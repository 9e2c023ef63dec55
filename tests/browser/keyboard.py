"""What JupyterLab would do with the keys of a widget, if the widget let them through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.browser.lab_session import Lab

#: In command mode these add, cut, delete and retype cells, merge them and move the selection.
SHORTCUTS = ("a", "b", "x", "d", "d", "m", "y", "Shift+M", "ArrowDown")
TYPES = "() => window.jupyterapp.shell.currentWidget.content.widgets.map(c => c.model.type)"


def press_shortcuts(lab: Lab, page: Any, parts: Sequence[str], field: Any = None) -> None:
    """Press JupyterLab's shortcuts on parts of a widget and type them into a field.

    Raises AssertionError if a cell appeared, went or changed its type. The parts are CSS
    selectors; of several elements the first is focused.
    """
    before = lab.cell_count(), page.evaluate(TYPES)
    for part in parts:
        page.locator(part).first.focus()
        for key in SHORTCUTS:
            page.keyboard.press(key)
    if field is not None:
        field.focus()
        page.keyboard.type("abxddmy")
    assert (lab.cell_count(), page.evaluate(TYPES)) == before
