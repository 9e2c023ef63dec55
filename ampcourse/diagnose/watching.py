"""Watch training steps from inside: `watch` around a few of them, `diagnose` for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from torch import nn

from ampcourse.diagnose.report import Report
from ampcourse.diagnose.session import Session

_current: list[Session] = []


class LiveReport:
    """The report of a `watch`: has all of a Report's attributes, up to date whenever read."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def snapshot(self) -> Report:
        """Return what is known now as an immutable Report."""
        return self._session.report()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.snapshot(), name)

    def __str__(self) -> str:
        return str(self.snapshot())


@contextmanager
def watch(
    model: nn.Module | None = None, optimizer: Any = None, scaler: Any = None
) -> Iterator[LiveReport]:
    """Watch one or more whole training steps and gather findings about them.

    Models, optimizers and scalers are found as they are used; those named here are known from
    the start, so that paths begin at `model`. `optimizer` may be a list of them. An exception
    goes through, and the report keeps what was found; while watched, torch.compile'd models run
    op by op. Every op's output is read, which slows a step down about as much as a debugger
    and on CUDA waits for the device after each op. Raises RuntimeError within another watch.
    """
    if _current:
        raise RuntimeError(
            "watch() is already watching; leave that with block, or use one report for both"
        )
    session = Session()
    _current.append(session)
    try:
        with session.installed():
            session.expect(model, optimizer, scaler)
            yield LiveReport(session)
    except BaseException as error:
        session.failed(error)
        raise
    finally:
        session.end()
        _current.clear()


def diagnose(
    model: nn.Module, step: Callable[[], Any], optimizer: Any = None, scaler: Any = None
) -> Report:
    """Call `step()`, which does one training step, under `watch` and return the report.

    An Exception that the step raises is part of the report (`error`) and does not go through.
    """
    if not callable(step):
        raise TypeError(
            f"step = {step!r} must be a function that does one training step when called without "
            "arguments, such as lambda: train_step(batch)"
        )
    with suppress(Exception), watch(model, optimizer, scaler) as live:
        step()
    return live.snapshot()
