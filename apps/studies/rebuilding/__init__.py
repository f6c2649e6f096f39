"""Rebuilds past states of a cluster as its scheduler knew them, and recomputes decisions in them.

`rebuild_state_before(row)` rebuilds the state that a recorded decision saw, `recompute(row)`
decides again with the scheduler's core, and `compare` lists how two decisions differ. `previewing`
decides many of them again under another configuration. docs/walk.md describes the sources of each
part of a state.
"""

from apps.studies.rebuilding.comparing import compare
from apps.studies.rebuilding.replaying import decide_again, recompute
from apps.studies.rebuilding.state import PastState, rebuild_state_at, rebuild_state_before

__all__ = [
    "PastState",
    "compare",
    "decide_again",
    "rebuild_state_at",
    "rebuild_state_before",
    "recompute",
]
