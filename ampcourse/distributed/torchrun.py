"""torchrun that does not outlive the program that started it; `launch` runs this module.

A notebook's kernel can be killed while it waits for the processes it launched. torchrun would not
notice; here it stops its workers and ends.
"""

from __future__ import annotations

import os
import signal

from torch.distributed.run import main

from ampcourse.distributed.ranks import end_with

if __name__ == "__main__":
    # As a user's Ctrl-C or kill does it: torchrun ends its workers then.
    end_with(os.getppid(), lambda: os.kill(os.getpid(), signal.SIGTERM))
    main()
