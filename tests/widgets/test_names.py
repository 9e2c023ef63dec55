"""A lesson may import a widget in one cell and again in a later one."""

from pathlib import Path

import pytest

import ampcourse.widgets as widgets

pytest.importorskip("anywidget", reason="needs the lab extra")


@pytest.mark.parametrize("name", [n for n in widgets.__all__ if n != "gradient_window"])
def test_a_widgets_name_is_still_the_function_after_its_first_use(name: str) -> None:
    function = getattr(widgets, name)
    function()
    assert getattr(widgets, name) is function


def test_no_module_or_folder_has_a_widgets_name() -> None:
    # An imported submodule takes its name's place in the package.
    (folder,) = widgets.__path__
    assert not {path.stem for path in Path(folder).iterdir()} & set(widgets.__all__)
