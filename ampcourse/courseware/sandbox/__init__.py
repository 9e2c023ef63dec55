"""Kernels for code that nobody has read yet, and the choice of the safest kind that works.

`forked_kernel`: bubblewrap (`walls`) round a server that is warm (`server`, its grader's end
`warm_server`); from it one process per submission is forked, in namespaces and limits of its
own (`isolation`), where a shell (`shell`) does what it is told over a socket (`wire`).
`notebook_kernel`: an ipykernel per submission (`notebook_process`), where bubblewrap does not
work. In both, `guard` keeps forbidden modules away, and `answer` reads what comes back.

What a learner's code can do all the same, in the sandbox:

- It can send any outcome instead of the true one, for every call. That earns what a right
  answer earns and no more: it must know the value, and nothing in the kernel does.
- It can know the visible calls and their answers, which are in the notebook anyway: each item
  is worth its marks only if its hidden calls are right too.
- In the second run it can read the hidden calls of its own and earlier tasks as they come, and
  give one back as the result of a hidden call that then fails: some 200 characters of it get
  into the report, one call for each item that is lost. The next submission could tabulate
  that much. Nothing else that the second run says is kept.
- It can use up its time, memory and scratch space, twice, and what it wins by waiting is 0.
- It can copy code from what it may import, numpy and the rest of the course among it; a task
  lists as forbidden the modules that contain its answer.
- It can attack Linux itself. For code that is hostile and not merely clever, grade in a
  virtual machine.

In the plain process besides: it can read and write what the account of the grader can, use
the network, read the source of a forbidden module as a file, and leave processes behind that
left its process group. Grade there only what you would run yourself.
"""

from ampcourse.courseware.kernel import Kernels
from ampcourse.courseware.sandbox.forked_kernel import ForkedKernels
from ampcourse.courseware.sandbox.notebook_kernel import NotebookKernels
from ampcourse.courseware.sandbox.walls import find_bubblewrap


def best_kernels() -> Kernels:
    """Return the safest kernels that this machine can run; close them after use."""
    bubblewrap = find_bubblewrap()
    return ForkedKernels(bubblewrap) if bubblewrap else NotebookKernels()


__all__ = ["best_kernels"]
