"""Hard constraints: on which nodes the skew would be too large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from apps.scheduler.cache.domains import Domains
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.interface import Verdicts
from apps.scheduler.framework.lazy import lazy
from apps.scheduler.framework.nodes import Int64Array, NodeColumns, UInt16Array
from apps.scheduler.framework.status import unresolvable, unschedulable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.podtopologyspread.constraints import SpreadConstraint
from apps.scheduler.plugins.podtopologyspread.eligibility import find_counted_domains

REASON_CONSTRAINTS_NOT_MATCH: Final = "node(s) didn't match pod topology spread constraints"
REASON_NODE_LABEL_NOT_MATCH: Final = f"{REASON_CONSTRAINTS_NOT_MATCH} (missing required label)"
_MISSING_LABEL: Final = 1
_TOO_UNEVEN: Final = 2
_STATUSES = (
    None,
    unresolvable(REASON_NODE_LABEL_NOT_MATCH),
    unschedulable(REASON_CONSTRAINTS_NOT_MATCH),
)


@dataclass(frozen=True, eq=False)
class HardConstraint:
    """A constraint with the number of matching pods in each domain."""

    constraint: SpreadConstraint
    #: 1 if the constraint counts the incoming pod itself
    self_match: int
    #: all nodes by the topology key
    domains: Domains
    #: the same without the nodes that are not included
    counted: Domains
    #: (size + 1,) int64: matching pods in each domain
    totals: Int64Array

    @lazy
    def table(self) -> UInt16Array:
        """(size + 1,) uint16: the verdict on a node of each domain, and without a domain."""
        greatest = self.constraint.max_skew + self.least - self.self_match
        table = (self.totals > greatest).astype(np.uint16)
        table *= np.uint16(_TOO_UNEVEN)
        table[self.domains.size] = _MISSING_LABEL
        return table

    @property
    def least(self) -> int:
        """The global minimum: the matching pods in the domain with the fewest."""
        if len(self.counted.inhabited) < max(self.constraint.min_domains, 1):
            return 0
        return self.counted.least(self.totals)

    @lazy
    def refuses(self) -> bool:
        """Whether any node is refused."""
        return bool(np.logical_and(self.table, self.domains.occupied).any())

    def with_change(self, pod: PodInfo, row: int, amount: int) -> HardConstraint:
        """With ``pod`` added to (+1) or removed from (-1) the row.

        Terminating pods count here, as upstream.
        """
        slot = self.counted.slots[row]
        if slot == self.counted.size or not self.constraint.selector.matches(pod.labels):
            return self
        totals = self.totals.copy()
        totals[slot] += amount
        return replace(self, totals=totals)


@dataclass(frozen=True, slots=True)
class PreFilterState:
    """Immutable: AddPod and RemovePod replace it."""

    constraints: tuple[HardConstraint, ...]

    def clone(self) -> PreFilterState:
        return self

    def with_change(self, pod: PodInfo, row: int, amount: int) -> PreFilterState:
        """With ``pod`` (of the incoming pod's namespace) added to or removed from the row."""
        return PreFilterState(
            tuple(each.with_change(pod, row, amount) for each in self.constraints),
        )


def pre_filter_state(
    snapshot: Snapshot, pod: PodInfo, constraints: Sequence[SpreadConstraint]
) -> PreFilterState:
    keys = tuple(dict.fromkeys(constraint.topology_key for constraint in constraints))
    found = []
    for constraint in constraints:
        counted = find_counted_domains(snapshot, pod, constraint, keys)
        totals = snapshot.pods_by_labels.totals(constraint, counted)
        found.append(
            HardConstraint(
                constraint,
                int(constraint.selector.matches(pod.labels)),
                snapshot.domains(constraint.topology_key),
                counted,
                totals,
            )
        )
    return PreFilterState(tuple(found))


def verdicts(state: PreFilterState, nodes: NodeColumns, *, whole: bool) -> Verdicts | None:
    """The first constraint that refuses a node gives its reason.

    ``whole``: ``nodes`` is the snapshot itself, so that its positions are the rows.
    """
    ids: UInt16Array | None = None
    for each in state.constraints:
        if not each.refuses:
            continue
        slots = each.domains.slots if whole else each.domains.slots[nodes.snapshot_rows]
        found = each.table.take(slots)
        ids = found if ids is None else np.where(ids == 0, found, ids)
    return None if ids is None else Verdicts(ids, _STATUSES)
