"""Hard constraints: on which nodes the skew would be too large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from apps.scheduler.cache.domains import Domains
from apps.scheduler.cache.pod_index import Sums
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.interface import Verdicts
from apps.scheduler.framework.lazy import lazy
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns, UInt16Array
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

        Terminating pods count here, as upstream. The last entry, of rows in no domain, is not read.
        """
        slot = self.counted.slots[row]
        if not self.constraint.selector.matches(pod.labels):
            return self
        totals = self.totals.copy()
        totals[slot] += amount
        return replace(self, totals=totals)


@dataclass(frozen=True)
class PreFilterState:
    """Immutable: AddPod and RemovePod replace it."""

    constraints: tuple[HardConstraint, ...]

    def clone(self) -> PreFilterState:
        return self

    @lazy
    def whole(self) -> Verdicts | None:
        """The verdicts on all rows of the snapshot."""
        return _find_verdicts(self, None)

    def after(self, before: PreFilterState) -> PreFilterState:
        """This state with the verdicts of the state ``before`` if no table differs."""
        pairs = zip(self.constraints, before.constraints, strict=True)
        if all(np.array_equal(new.table, old.table) for new, old in pairs):
            self.__dict__["whole"] = before.whole
        return self

    def with_change(self, pod: PodInfo, row: int, amount: int) -> PreFilterState:
        """With ``pod`` (of the incoming pod's namespace) added to or removed from the row."""
        return PreFilterState(
            tuple(each.with_change(pod, row, amount) for each in self.constraints),
        )


class SpreadFilter:
    """The states of PreFilter for pods that the plugin cannot tell apart.

    ``pod`` is one of these. A state is reused until the pods that its constraints count change.
    """

    def __init__(self, pod: PodInfo, constraints: Sequence[SpreadConstraint]) -> None:
        self._pod = pod
        self._constraints = constraints
        self._keys = tuple(dict.fromkeys(each.topology_key for each in constraints))
        self._node_version = -1
        #: of each constraint: all nodes by its topology key, and those that it includes
        self._domains: list[tuple[Domains, Domains]] = []
        #: what the last state was computed from
        self._seen: list[tuple[Sums, int]] = []
        self._state: PreFilterState | None = None

    def state(self, snapshot: Snapshot) -> PreFilterState:
        if self._node_version != snapshot.node_version:
            self._find_domains(snapshot)
        sums = [
            snapshot.pods_by_labels.totals(constraint, counted)
            for constraint, (_, counted) in zip(self._constraints, self._domains, strict=True)
        ]
        seen = [(each, each.position) for each in sums]
        if self._state is None or seen != self._seen:
            state, self._seen = self._count(sums), seen
            self._state = state if self._state is None else state.after(self._state)
        return self._state

    def _find_domains(self, snapshot: Snapshot) -> None:
        self._state = None
        self._domains = [
            (
                snapshot.domains(each.topology_key),
                find_counted_domains(snapshot, self._pod, each, self._keys),
            )
            for each in self._constraints
        ]
        self._node_version = snapshot.node_version

    def _count(self, sums: Sequence[Sums]) -> PreFilterState:
        state = PreFilterState(
            tuple(
                HardConstraint(
                    constraint,
                    int(constraint.selector.matches(self._pod.labels)),
                    *domains,
                    totals.values,
                )
                for constraint, domains, totals in zip(
                    self._constraints, self._domains, sums, strict=True
                )
            )
        )
        # The totals change with the next snapshot, the tables do not.
        for each in state.constraints:
            each.table  # noqa: B018
        return state


def verdicts(state: PreFilterState, nodes: NodeColumns, *, whole: bool) -> Verdicts | None:
    """The first constraint that refuses a node gives its reason.

    ``whole``: ``nodes`` is the snapshot itself, so that its positions are the rows.
    """
    return state.whole if whole else _find_verdicts(state, nodes.snapshot_rows)


def _find_verdicts(state: PreFilterState, rows: Int64Array | None) -> Verdicts | None:
    """The verdicts on these rows of the snapshot (None = all)."""
    ids: UInt16Array | None = None
    for each in state.constraints:
        if not each.refuses:
            continue
        slots = each.domains.slots if rows is None else each.domains.slots[rows]
        counts = each.table.take(slots)
        ids = counts if ids is None else np.where(ids == 0, counts, ids)
    return None if ids is None else Verdicts(ids, _STATUSES)
