"""Keeps the modules that a lesson asks to build out of the learner's reach, in the kernel.

The text of this file may be sent into a kernel: it imports only the standard library. Files
are masked elsewhere (`isolation`); here it is about `import` and what is loaded already.
"""

import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn


class ImportGuard:
    """An import hook that refuses forbidden modules and notes down who asked for them."""

    def __init__(self, forbidden: dict[str, str], hits: list[str]) -> None:
        self.forbidden = forbidden
        self.hits = hits

    def install(self) -> None:
        """Refuse from now on, also what is loaded already."""
        loaded = [name for name in sys.modules if self.task_of(name)]
        for name in sorted(loaded, reverse=True):
            self.unload(name)
        sys.meta_path.insert(0, self)

    def task_of(self, name: str) -> str | None:
        """Return the task that forbids a module, if one does."""
        for module, task in self.forbidden.items():
            if name == module or name.startswith(module + "."):
                return task
        return None

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Raise ImportError for a forbidden module; called by `import`."""
        if self.task_of(name):
            raise ImportError(self.refuse(name))

    def refuse(self, name: str) -> str:
        self.hits.append(name)
        return f"{name} may not be imported here: {self.task_of(name)} asks you to build it"

    def unload(self, name: str) -> None:
        """Take a module that another one needed out of reach, and the sense out of its code.

        Whoever finds one of its functions all the same, as an attribute of another module or
        by searching memory, finds that calling it raises ImportError.
        """
        module = sys.modules.pop(name)
        parent, _, child = name.rpartition(".")
        if parent in sys.modules:
            sys.modules[parent].__dict__.pop(child, None)

        def refused() -> NoReturn:
            raise ImportError(self.refuse(name))

        for function in functions_of(module):
            if function.__module__ == name:  # an Enum has functions of the module enum
                disarm(function, refused)
        module.__dict__.clear()


def functions_of(module: types.ModuleType) -> Iterator[types.FunctionType]:
    """Yield the functions and methods that a module defines."""
    for value in list(vars(module).values()):
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if isinstance(value, type):
            for part in vars(value).values():
                yield from bare(part)
        else:
            yield from bare(value)


def bare(value: Any) -> Iterator[types.FunctionType]:
    """Yield the plain functions in a function, a static or class method or a property."""
    for part in (value, *(getattr(value, key, None) for key in ("__func__", "fget", "fset"))):
        while hasattr(part, "__wrapped__"):
            if isinstance(part, types.FunctionType):
                yield part
            part = part.__wrapped__
        if isinstance(part, types.FunctionType):
            yield part


def template(*_: object, **__: object) -> None:
    """What a forbidden function does once its module is unloaded, but for its constant."""
    refused: Any = "refused"
    refused()


def disarm(function: types.FunctionType, refused: Callable[[], NoReturn]) -> None:
    """Let a function call `refused`, whatever its arguments, globals and closure are."""
    constants = tuple(refused if c == "refused" else c for c in template.__code__.co_consts)
    function.__code__ = template.__code__.replace(
        co_consts=constants, co_freevars=function.__code__.co_freevars
    )
    function.__defaults__ = function.__kwdefaults__ = None


def files_of(name: str) -> list[str]:
    """Return the folders, or the source and compiled files, of a module that is not imported."""
    head, *rest = name.split(".")
    try:
        spec = importlib.util.find_spec(head)
    except (ImportError, ValueError):
        spec = None
    for part in rest:
        inside = spec.submodule_search_locations if spec else None
        head = f"{head}.{part}"
        spec = importlib.machinery.PathFinder.find_spec(head, inside) if inside else None
    if spec is None:
        return []
    if spec.submodule_search_locations:
        return [str(Path(folder)) for folder in spec.submodule_search_locations]
    if not spec.has_location or not spec.origin:
        return []
    path = Path(spec.origin)
    compiled = path.parent.glob(f"__pycache__/{path.stem}.*.pyc")
    return [str(path), *map(str, compiled)]
