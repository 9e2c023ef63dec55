"""The short cards that check cells show, in HTML for a notebook and in text for the rest.

All words and colours of the cards are here; state is told by a word and a border as well as
by colour, and colours come from JupyterLab's variables so that they follow its theme.
"""

import os
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from ampcourse.courseware.checks import Verdict

PASSED = "{task} solved: all {count} checks hold. Grading tries other inputs too."
WAITING = "{task} is waiting for you: replace the raise line in the cell above, run it, then this."
BEGUN = "{task} is not finished: some calls still reach `raise NotImplementedError`."
NEEDS = "{task} calls {needs}, which is not solved yet: solve {needs} first, then run this."
FAILED = "{task} is not right yet"
PROGRESS = "{solved} of {total} tasks solved in this session"
OPEN = "open"
SOLVED = "solved"

BORDER = {
    "solved": "3px solid var(--jp-success-color1, #2e7d32)",
    "wrong": "3px double var(--jp-error-color1, #c62828)",
    "waiting": "3px dashed var(--jp-border-color1, #767676)",
}
# The error that follows a card exists for nbgrader; in JupyterLab the card says it better.
HIDE_ERROR = (
    "<style>.jp-OutputArea-child:has(.ampcourse-card) + .jp-OutputArea-child:has("
    "[data-mime-type='application/vnd.jupyter.stderr'],"
    "[data-mime-type='application/vnd.jupyter.error']) {display: none}</style>"
)


class Card:
    """A card that IPython shows as HTML where it can and as text elsewhere."""

    def __init__(self, state: str, text: str, body: str) -> None:
        self.text = text
        self.html = (
            f'<div class="ampcourse-card" role="status" style="border-left:{BORDER[state]};'
            f'padding:.4em .8em;margin:.2em 0;font-size:var(--jp-ui-font-size1,13px)">{body}</div>'
        )

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


def display(card: Card) -> None:
    """Show a card in a notebook; print its text where there is no IPython."""
    try:
        from IPython.core.getipython import get_ipython
        from IPython.display import display as show
    except ImportError:
        print(card)
        return
    if get_ipython() is None:
        print(card)
    else:
        show(card)


def passed(task: str, count: int) -> Card:
    """The card of a task whose visible checks all hold."""
    text = PASSED.format(task=task, count=count)
    return Card("solved", text, f"<b>✓</b> {escape(text)}")


def waiting(task: str, begun: bool = False, needs: str = "") -> Card:
    """The quiet card of a task whose stub, or that of a task it needs, is reached by calls."""
    text = (NEEDS if needs else BEGUN if begun else WAITING).format(task=task, needs=needs)
    return Card("waiting", text, f"<b>○</b> {escape(text)}{HIDE_ERROR}")


def failed(task: str, verdicts: "Sequence[Verdict]") -> Card:
    """The card of a wrong answer: for each item the call, got, expected and the hint."""
    title = FAILED.format(task=task)
    rows = "".join(failure(verdict) for verdict in verdicts)
    body = f"<b>✗ {escape(title)}</b><ul style='margin:.3em 0;padding-left:1.2em'>{rows}</ul>"
    text = "\n".join([title, *(f"  {verdict.message}" for verdict in verdicts)])
    return Card("wrong", text, body + HIDE_ERROR)


def failure(verdict: "Verdict") -> str:
    """One failed item as a list entry."""
    call = f"<code style='white-space:pre-wrap'>{escape(verdict.check.call)}</code>"
    if verdict.waiting:
        return f"<li>{call} {escape(verdict.message)}</li>"
    if verdict.needs:
        return f"<li>{call}<br>{escape(verdict.hint)}</li>"
    expected = escape(verdict.check.expected.text)
    return (
        f"<li style='margin:.3em 0'>{call} {escape(verdict.got)}; expected <b>{expected}</b>."
        f"<br>{escape(verdict.hint)}</li>"
    )


def progress(titles: dict[str, str], solved: dict[str, bool]) -> Card:
    """The lesson's last card: each task, solved or open, with a link back to it."""
    count = sum(solved.get(task, False) for task in titles)
    title = PROGRESS.format(solved=count, total=len(titles))
    marks = {task: SOLVED if solved.get(task) else OPEN for task in titles}
    text = "\n".join([title, *(f"  {task} {titles[task]}: {marks[task]}" for task in titles)])
    rows = "".join(
        f"<li>{'✓' if solved.get(task) else '○'} <a href='{anchor(task)}'>"
        f"{task} · {escape(titles[task])}</a>: {marks[task]}</li>"
        for task in titles
    )
    state = "solved" if count == len(titles) else "waiting"
    items = f"<ul style='list-style:none;margin:.3em 0;padding-left:.2em'>{rows}</ul>"
    return Card(state, text, f"<b>{escape(title)}</b>{items}")


def anchor(task: str) -> str:
    """Return the address of a task's cell.

    JupyterLab follows an address inside a notebook only with the file's name before it, which
    the server tells its kernels in a variable.
    """
    name = os.path.basename(os.environ.get("JPY_SESSION_NAME", ""))
    return escape(f"{quote(name)}#cell-id={task}", quote=True)
