"""Functions that call ops inside, and how an override gets to see those ops.

A TorchFunctionMode is shown the outermost call and nothing that happens in it. torch's autocast
sits lower, where each op arrives on its own. The gap is closed for functions written in Python:
they are opened, which means that their body runs with the mode in force.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import CellType, FunctionType
from typing import Any

#: The questions by which torch's Python functions find out whether someone overrides them.
QUESTIONS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")

#: Per module (by the id of its names) the same names with opened functions.
_opened_names: dict[int, dict[str, Any]] = {}


#: Python versions of ops that cast inside, by name.
DECOMPOSED: dict[str, Callable[..., Any]] = {}


@cache
def body_of(func: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return a function in Python that calls the same ops as `func`, or None for a plain op."""
    return DECOMPOSED.get(getattr(func, "__name__", "")) or opened(func)


@cache
def opened(func: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return a copy of a Python function that does not offer itself to overrides, else None.

    The functions of torch.nn.functional and the Python methods of a tensor begin by asking
    whether a mode wants the call, and hand it over. The copy is told no and goes on to its body;
    the ops that the body calls ask as ever. A function in C++ has no body to run: None. So does a
    copy that comes back, because it asks in a way of its own.
    """
    if not isinstance(func, FunctionType) or hasattr(func, "_is_opened"):
        return None
    closed_over = [cell.cell_contents for cell in func.__closure__ or ()]
    cells = [CellType(value if value is func else _opened_or_same(value)) for value in closed_over]
    return _copy(func, _names_for(func), tuple(cells))


def _opened_or_same(value: Any) -> Any:
    return (opened(value) or value) if isinstance(value, FunctionType) else value


def _names_for(func: FunctionType) -> dict[str, Any]:
    """Return the names that an opened function sees: its module's, with the functions opened.

    A public function often asks through a private one, which hands over the public one's name;
    if only the public one were opened, the call would come back for ever.
    """
    names = func.__globals__
    if id(names) not in _opened_names:
        copies = _opened_names[id(names)] = dict(names)
        copies |= dict.fromkeys(QUESTIONS, _no)
        for name, value in names.items():
            if isinstance(value, FunctionType) and value.__globals__ is names:
                copies[name] = _copy(value, copies, value.__closure__)
    return _opened_names[id(names)]


def _copy(func: FunctionType, names: dict[str, Any], closure: Any) -> FunctionType:
    copy = FunctionType(func.__code__, names, func.__name__, func.__defaults__, closure or None)
    copy.__kwdefaults__ = func.__kwdefaults__
    copy._is_opened = True
    return copy


def _no(*_: Any) -> bool:
    return False
