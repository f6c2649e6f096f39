"""Past states of a cluster as its scheduler knew them, and decisions made in them once more.

`state_before(row)` is what a decision of the ledger saw; `recompute(row)` decides again with the
real core; `differences` tells whether two decisions are equal. docs/walk.md says what is rebuilt
from what.
"""

from apps.controlplane.rebuilding.comparing import differences
from apps.controlplane.rebuilding.replaying import decide_again, recompute
from apps.controlplane.rebuilding.state import PastState, state_at, state_before

__all__ = [
    "PastState",
    "decide_again",
    "differences",
    "recompute",
    "state_at",
    "state_before",
]
