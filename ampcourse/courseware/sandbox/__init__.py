"""Kernels for code that nobody has read yet, and the choice of the safest kind that works."""

from ampcourse.courseware.kernel import Kernels
from ampcourse.courseware.sandbox.forked_kernel import ForkedKernels
from ampcourse.courseware.sandbox.notebook_kernel import NotebookKernels
from ampcourse.courseware.sandbox.walls import find_bubblewrap


def best_kernels() -> Kernels:
    """Return the safest kernels that this machine can run; close them after use."""
    bubblewrap = find_bubblewrap()
    return ForkedKernels(bubblewrap) if bubblewrap else NotebookKernels()


__all__ = ["best_kernels"]
