"""What articles on mixed precision claim, and what is so, worked out on the spot.

The course grew from three articles. `CLAIMS` has their claims one by one; `Claim.check` works out
the evidence with this package, this torch and the course's records, and what it amounts to. Nothing
heavy is imported before a claim is checked.
"""

from ampcourse.claims.claim import Claim, Finding, table
from ampcourse.claims.numbers import NUMBERS
from ampcourse.claims.speed import SPEED
from ampcourse.claims.training import TRAINING

#: All claims, in the order of the course.
CLAIMS = NUMBERS + TRAINING + SPEED

__all__ = ["CLAIMS", "NUMBERS", "SPEED", "TRAINING", "Claim", "Finding", "table"]
