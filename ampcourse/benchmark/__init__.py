"""Speed comparisons: what was measured, on what, by whom.

`live` needs torch and is imported only where it is used.
"""

from ampcourse.benchmark.records import records
from ampcourse.benchmark.result import Measurement, Result

__all__ = ["Measurement", "Result", "records"]
