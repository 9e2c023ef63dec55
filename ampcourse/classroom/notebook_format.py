"""Imports nbformat without a part of jsonschema's that costs more than grading ten notebooks."""

import contextlib
import importlib
import sys
from collections.abc import Iterator

#: jsonschema builds a grammar of internationalised addresses when it is imported, seconds of
#: work in every worker, for a format that no notebook's schema names. It does without it.
GRAMMAR = "rfc3987_syntax"


@contextlib.contextmanager
def without(module: str) -> Iterator[None]:
    """Make an import of `module` fail inside the block, unless it was imported before."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[module]


def import_nbformat() -> None:
    """Import nbformat, if it is there, the quick way."""
    with without(GRAMMAR), contextlib.suppress(ImportError):
        importlib.import_module("nbformat")
