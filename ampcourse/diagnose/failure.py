"""Known error messages about types, in their old and present words, and where they came from."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from torch import nn

from ampcourse.diagnose.finding import Findings
from ampcourse.diagnose.names import Names
from ampcourse.diagnose.place import is_user_file, line_text

# What the message contains → the kind of finding. Texts of torch 1.5 to 2.14.
_TEXTS = {
    "must have the same dtype": "dtype_mismatch",
    "expected scalar type": "dtype_mismatch",
    "should be the same": "dtype_mismatch",
    "to have the same dtype": "dtype_mismatch",
    "unsafe to autocast": "unsafe_under_autocast",
    "not implemented for 'Half'": "type_not_implemented",
    "not implemented for 'BFloat16'": "type_not_implemented",
}


def explain(error: Exception, findings: Findings, names: Names) -> None:
    """Add a finding for an exception whose message is a known one about types."""
    text = str(error)
    kind = next((kind for part, kind in _TEXTS.items() if part in text), None)
    if kind is None:
        return
    module, line = _place(error.__traceback__, names)
    place = f"{module} ({line})" if module else line
    findings.add(kind, module or line, f"{place} raised {type(error).__name__}: {text}.")


def _place(traceback: TracebackType | None, names: Names) -> tuple[str, str]:
    """Return the innermost module and the innermost user's line of a traceback."""
    module, line = "", "unknown line"
    while traceback is not None:
        frame: Any = traceback.tb_frame
        owner = frame.f_locals.get("self")
        if isinstance(owner, nn.Module):
            module = names.of_module(owner)
        if is_user_file(frame.f_code.co_filename):
            line = line_text(frame.f_code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return module, line
