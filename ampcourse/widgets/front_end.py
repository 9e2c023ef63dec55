"""What all widgets share: their files, and a plain-text picture beside the live view."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_STATIC = Path(__file__).parent / "static"

try:
    import anywidget
    import ipywidgets
    import traitlets
except ImportError as error:  # the message is what the learner sees
    raise ImportError(
        f"the widgets need {error.name}, which is not installed; "
        "install the course with its lab extra: pip install 'ampcourse[lab]'"
    ) from error

__all__ = ["PictureBox", "anywidget", "assignable", "ipywidgets", "refusal", "static", "traitlets"]


def static(*names: str) -> str:
    """Join files of the static folder: a widget's module cannot import another by path."""
    return "\n".join((_STATIC / name).read_text(encoding="utf-8") for name in names)


def refusal(text: str, error: ValueError) -> dict[str, Any]:
    """Return what the browser shows for a number text that was refused.

    `before`, `at` and `after` split the text at the character that is wrong; without a
    position, `before` is empty.
    """
    position = getattr(error, "position", None)
    if position is None:
        return {"message": str(error), "before": "", "at": "", "after": ""}
    start = max(0, position - 24)
    return {
        "message": getattr(error, "reason", str(error)),
        "before": ("…" if start else "") + text[start:position],
        "at": text[position : position + 1] or " ",
        "after": text[position + 1 : position + 13],
    }


def assignable(name: str, doc: str) -> Any:
    """Return a property that reads a field of `state` and assigns by the state's `with_name`."""

    def read(widget: Any) -> Any:
        return getattr(widget.state, name)

    def assign(widget: Any, value: Any) -> None:
        widget.state = getattr(widget.state, f"with_{name}")(value)

    return property(read, assign, doc=doc)


class PictureBox(ipywidgets.VBox):
    """A box of widgets whose plain text is its picture, the same from run to run."""

    def picture(self) -> str:
        """Return the widget as text."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.picture()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        # ipywidgets cuts the text at 110 characters.
        return {**bundle, "text/plain": self.picture()}
