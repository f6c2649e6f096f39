"""How many feasible nodes are enough: percentageOfNodesToScore."""

from __future__ import annotations

from typing import Final

#: Below this many nodes all are looked at; at least as many feasible ones are looked for.
MIN_FEASIBLE_NODES_TO_FIND: Final = 100
MIN_FEASIBLE_NODES_PERCENTAGE: Final = 5
_ADAPTIVE_START_PERCENTAGE: Final = 50
_NODES_PER_PERCENT: Final = 125


def num_feasible_nodes_to_find(
    nodes: int, profile_percentage: int | None, global_percentage: int | None
) -> int:
    """After how many feasible nodes the search stops in a cluster of `nodes` nodes.

    The profile's percentage goes before the configuration's; 0 is adaptive (50 % less 1 for every
    125 nodes, at least 5 %), as is None when neither says anything.
    """
    if nodes < MIN_FEASIBLE_NODES_TO_FIND:
        return nodes
    percentage = global_percentage if profile_percentage is None else profile_percentage
    if not percentage:
        percentage = max(
            _ADAPTIVE_START_PERCENTAGE - nodes // _NODES_PER_PERCENT, MIN_FEASIBLE_NODES_PERCENTAGE
        )
    return max(nodes * percentage // 100, MIN_FEASIBLE_NODES_TO_FIND)
