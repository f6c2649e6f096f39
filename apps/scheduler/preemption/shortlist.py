"""How many candidates preemption looks for before it chooses one."""

from __future__ import annotations


def num_candidates(potential_nodes: int, percentage: int, absolute: int) -> int:
    """The number of candidates to dry-run among `potential_nodes` where eviction may help.

    `percentage` (0–100) and `absolute` are minCandidateNodesPercentage and
    minCandidateNodesAbsolute of DefaultPreemptionArgs; the larger counts, up to all nodes.
    """
    return min(max(potential_nodes * percentage // 100, absolute), potential_nodes)
