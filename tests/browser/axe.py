"""axe-core over a part of the page, where the package that brings it is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def violations(
    page: Any, context: str | dict[str, list[str]], only: Sequence[str] = ()
) -> list[tuple[str, list[str]]]:
    """Return rule and elements of what axe objects to; skip the test where axe is missing.

    `context` is a selector, or lists of those to include and exclude; `only` names the rules to
    try, all if empty.
    """
    module = pytest.importorskip("axe_playwright_python.sync_playwright")
    # JupyterLab's body is 0 pixels high and hides overflow: axe would take all text in it for
    # invisible and check no contrast.
    page.evaluate("document.body.style.height = '100vh'")
    if not page.evaluate("'axe' in window"):  # half a megabyte: once a page
        page.evaluate(module.Axe().axe_script)
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    options |= {"runOnly": list(only)} if only else {}
    response = page.evaluate("(arguments) => axe.run(...arguments)", [context, options])
    checked = [rule for rule in response["passes"] if rule["id"] == "color-contrast"]
    assert checked, "axe checked no contrast"
    found = response["violations"]
    return [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found]
