"""The annotations in which kube-scheduler-simulator stores what its scheduler decided."""

from __future__ import annotations

from typing import Final

PREFIX: Final = "kube-scheduler-simulator.sigs.k8s.io/"
PRE_FILTER: Final = PREFIX + "prefilter-result-status"
FILTER: Final = PREFIX + "filter-result"
SCORE: Final = PREFIX + "score-result"
FINAL_SCORE: Final = PREFIX + "finalscore-result"
SELECTED_NODE: Final = PREFIX + "selected-node"
