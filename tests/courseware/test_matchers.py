"""What the matchers of checks accept."""

from typing import Any

import pytest

from ampcourse.courseware import raises


def raised(error: BaseException) -> dict[str, Any]:
    """Return the outcome of a call that raised, as the agent reports it."""
    return {"error": {"bases": [base.__name__ for base in type(error).__mro__]}}


@pytest.mark.parametrize(
    ("expected", "error", "right"),
    [
        (ValueError, ValueError(), True),
        (ValueError, UnicodeError(), True),
        (ValueError, TypeError(), False),
        (RuntimeError, RuntimeError(), True),
        (RuntimeError, RecursionError(), True),
        (RuntimeError, NotImplementedError("t06_3"), False),
        (Exception, NotImplementedError("t06_3"), False),
        (NotImplementedError, NotImplementedError(), True),
    ],
)
def test_raises_accepts_the_type_and_its_subclasses_but_no_stub(
    expected: type[BaseException], error: BaseException, right: bool
) -> None:
    assert raises(expected).accepts(raised(error)) is right


def test_raises_refuses_a_value() -> None:
    assert not raises(ValueError).accepts({"value": 1})
