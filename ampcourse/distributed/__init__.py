"""One training on several processes: who is who, equal gradients, no process left behind.

`ranks` and `launching` import torch only where they use it; DistributedDataParallel, gloo and NCCL
are torch's.
"""

from ampcourse.distributed.launching import LaunchError, launch
from ampcourse.distributed.ranks import SINGLE, Ranks, process_group, ranks_of

__all__ = ["SINGLE", "LaunchError", "Ranks", "launch", "process_group", "ranks_of"]
