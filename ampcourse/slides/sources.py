"""Where a figure's numbers are from, as a figure has to say it."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

_LEGAL = (
    "begin with 'computed: ' and names of the package, 'recorded: ' and a file of the course, "
    "or 'quoted: ' and a citation with a link, a DOI or an arXiv number"
)
_CITATION = re.compile(r"https://|doi:|arXiv:|IEEE \d|ISBN")


def checked_source(source: str, root: Path) -> str:
    """Return a figure's source if it names something that exists; else raise ValueError.

    `computed` names functions or modules of this package that can be imported, `recorded` a
    file below `root`, `quoted` something that a reader can look up.
    """
    kind, _, told = source.partition(": ")
    if kind == "computed" and told:
        for name in told.split(", "):
            try:
                pkgutil.resolve_name(name)
            except (ImportError, AttributeError, ValueError) as error:
                raise ValueError(f"source={source!r}: there is no {name} ({error})") from error
    elif kind == "recorded" and told:
        if not (root / told.split(" (")[0]).is_file():
            raise ValueError(f"source={source!r}: no such file below the course's folder")
    elif kind != "quoted" or not _CITATION.search(told):
        raise ValueError(f"source={source!r} names no source: {_LEGAL}")
    return source
