"""What a kernel answers to a call, read by the grader: it may be anything at all."""

from typing import Any

from ampcourse.courseware.kernel import KernelLost
from ampcourse.courseware.plain import readable
from ampcourse.courseware.sandbox.wire import UNABLE


def read_answer(answer: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the outcome, empty if none was asked for, and refused modules; raises KernelLost."""
    if isinstance(answer, dict):
        outcome, refused = answer.get("outcome"), answer.get("refused")
        if isinstance(refused, list) and isinstance(outcome, dict | None):
            return readable(outcome) if outcome is not None else {}, list(map(str, refused))
    raise KernelLost(UNABLE)
