"""Where the memory of training goes: bytes per parameter, activations, checkpointing, the peak.

`ledger` is plain Python. `activations`, `checkpointing`, `rehearsal` and `peak` need torch and
are imported where they are used.
"""

from ampcourse.memory.ledger import Ledger, Row, ledger
from ampcourse.memory.literature import FIGURES, Figure

__all__ = ["FIGURES", "Figure", "Ledger", "Row", "ledger"]
