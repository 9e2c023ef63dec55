"""Where the memory of training goes: bytes per parameter, shards, activations, the peak.

`ledger` and `shards` are plain Python. `activations`, `checkpointing`, `rehearsal` and `peak` need
torch and are imported where they are used.
"""

from ampcourse.memory.ledger import Ledger, Row, ledger
from ampcourse.memory.literature import FIGURES, Figure
from ampcourse.memory.shards import zero_bytes, zero_traffic

__all__ = ["FIGURES", "Figure", "Ledger", "Row", "ledger", "zero_bytes", "zero_traffic"]
