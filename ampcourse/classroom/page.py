"""Makes HTML pages that need nothing but themselves; all that is put in is escaped."""

import re
import unicodedata
from functools import cache
from typing import Any

# Characters that are not seen or turn the direction of others; in a report they can lie.
UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
KEPT = {"\n", "\t"}
LONGEST = 4_000


@cache
def environment() -> Any:
    """Return the templates, in which every value is escaped and every name must exist."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("ampcourse.classroom"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"seen": seen, "marks": marks}
    return made


def render(template: str, **values: Any) -> str:
    """Return a page made from one of the templates."""
    text: str = environment().get_template(template).render(**values)
    return re.sub(r"\n\s*\n+", "\n", text)


def seen(text: object) -> str:
    """Return text with unseen characters spelled out, cut where it is very long."""
    whole = str(text)
    shown = whole[:LONGEST] + (" … (cut)" if len(whole) > LONGEST else "")
    return "".join(
        f"\\u{ord(sign):04x}" if sign not in KEPT and unicodedata.category(sign) in UNSEEN else sign
        for sign in shown
    )


def marks(number: float) -> str:
    """Return marks with at most two decimals."""
    return f"{number:.2f}".rstrip("0").rstrip(".")
