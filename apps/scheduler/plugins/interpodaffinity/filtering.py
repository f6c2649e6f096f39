"""Required terms: which nodes are in domains that violate them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.cache.domains import Domains
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.affinity_terms import TermKind
from apps.scheduler.framework.interface import Verdicts
from apps.scheduler.framework.lazy import lazy
from apps.scheduler.framework.nodes import Int64Array, NodeColumns
from apps.scheduler.framework.status import unresolvable, unschedulable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.interpodaffinity.existing import Existing
from apps.scheduler.plugins.interpodaffinity.incoming import Incoming, Tally

FlagArray = NDArray[np.uint8]

REASON_AFFINITY: Final = "node(s) didn't match pod affinity rules"
REASON_ANTI_AFFINITY: Final = "node(s) didn't match pod anti-affinity rules"
REASON_EXISTING_ANTI_AFFINITY: Final = "node(s) didn't satisfy existing pods anti-affinity rules"
#: the reasons to refuse a node, as flags
_EXISTING_ANTI_AFFINITY, _ANTI_AFFINITY, _AFFINITY = 1, 2, 4
#: by the sum of the flags: affinity precedes anti-affinity, which precedes that of other pods
_STATUSES = (
    None,
    unschedulable(REASON_EXISTING_ANTI_AFFINITY),
    *[unschedulable(REASON_ANTI_AFFINITY)] * 2,
    *[unresolvable(REASON_AFFINITY)] * 4,
)


@dataclass(frozen=True, slots=True)
class Count:
    """How many pods count in the domains of one topology key."""

    domains: Domains
    #: (size + 1,) int64, 0 outside
    totals: Int64Array

    def plus(self, row: int, amount: int) -> Count:
        slot = self.domains.slots[row]
        if not amount or slot == self.domains.size:
            return self
        totals = self.totals.copy()
        totals[slot] += amount
        return Count(self.domains, totals)


#: by topology key
Counts = Mapping[str, Count]


@dataclass(frozen=True)
class PreFilterState:
    """Immutable: AddPod and RemovePod replace it."""

    pod: PodInfo
    namespace_labels: Mapping[str, str]
    incoming: Incoming
    #: pods that match all of the incoming pod's affinity terms
    affinity: Counts
    #: pods that match one of its anti-affinity terms
    anti_affinity: Counts
    #: running pods' anti-affinity terms that the incoming pod matches
    existing: Counts

    def clone(self) -> PreFilterState:
        return self

    @lazy
    def tables(self) -> list[tuple[Domains, FlagArray]]:
        """For each topology key that refuses a node: (size + 1,) uint8 flags by domain."""
        tables: dict[str, tuple[Domains, FlagArray]] = {}
        needed = 0 if self._is_first_of_its_kind() else 1
        for key, count in self.affinity.items():
            missing = count.totals < needed
            missing[count.domains.size] = True
            tables[key] = (count.domains, missing * np.uint8(_AFFINITY))
        for flag, counts in (
            (_ANTI_AFFINITY, self.anti_affinity),
            (_EXISTING_ANTI_AFFINITY, self.existing),
        ):
            for key, count in counts.items():
                flags = (count.totals > 0) * np.uint8(flag)
                known = tables.get(key)
                tables[key] = (count.domains, flags if known is None else known[1] | flags)
        return [
            (domains, table)
            for domains, table in tables.values()
            if np.logical_and(table, domains.occupied).any()
        ]

    def _is_first_of_its_kind(self) -> bool:
        """Whether no running pod matches the affinity terms, but the pod itself does.

        It may then start a new group on any node that has the topology keys.
        """
        return self.incoming.likes_itself(self.pod) and not any(
            count.totals.any() for count in self.affinity.values()
        )

    def with_change(
        self, other: PodInfo, row: int, amount: int, domains_of: Callable[[str], Domains]
    ) -> PreFilterState:
        """The state with ``other`` added to (+1) or removed from (-1) the row."""
        return replace(
            self,
            affinity=_add(self.affinity, self.incoming.affinity, other, row, amount),
            anti_affinity=_add(self.anti_affinity, self.incoming.anti_affinity, other, row, amount),
            existing=self._add_to_existing(other, row, amount, domains_of),
        )

    def _add_to_existing(
        self, other: PodInfo, row: int, amount: int, domains_of: Callable[[str], Domains]
    ) -> Counts:
        counts = dict(self.existing)
        for carried in other.terms.carried:
            if carried.kind is not TermKind.REQUIRED_ANTI_AFFINITY:
                continue
            if carried.term.matches(self.pod.pod, self.namespace_labels):
                key = carried.term.topology_key
                counts[key] = (counts.get(key) or _empty(domains_of(key))).plus(row, amount)
        return counts


def pre_filter_state(
    snapshot: Snapshot,
    pod: PodInfo,
    incoming: Incoming,
    existing: Existing,
    namespace_labels: Mapping[str, str],
) -> PreFilterState | None:
    """None if no node can be refused."""
    against: dict[str, Count] = {}
    for tally in existing.anti_affinity:
        domains = snapshot.domains(tally.topology_key)
        totals = snapshot.pods_by_term.totals(tally, domains)
        if totals.any():
            against[tally.topology_key] = Count(domains, totals)
    if not against and not incoming.affinity and not incoming.anti_affinity:
        return None
    return PreFilterState(
        pod,
        namespace_labels,
        incoming,
        affinity=_counts(snapshot, incoming.affinity),
        anti_affinity=_counts(snapshot, incoming.anti_affinity),
        existing=against,
    )


def verdicts(state: PreFilterState, nodes: NodeColumns, *, whole: bool) -> Verdicts | None:
    """``whole``: ``nodes`` is the snapshot itself, so that its positions are the rows."""
    flags: FlagArray | None = None
    for domains, table in state.tables:
        found = table.take(domains.slots if whole else domains.slots[nodes.snapshot_rows])
        flags = found if flags is None else flags | found
    return None if flags is None else Verdicts(flags.astype(np.uint16), _STATUSES)


def _counts(snapshot: Snapshot, tallies: Iterable[Tally]) -> Counts:
    counts = {}
    for tally in tallies:
        domains = snapshot.domains(tally.topology_key)
        totals = snapshot.pods_by_labels.totals(tally, domains)
        counts[tally.topology_key] = Count(domains, totals)
    return counts


def _add(counts: Counts, tallies: Iterable[Tally], other: PodInfo, row: int, amount: int) -> Counts:
    return {
        tally.topology_key: counts[tally.topology_key].plus(row, amount * tally.of(other))
        for tally in tallies
    }


def _empty(domains: Domains) -> Count:
    return Count(domains, np.zeros(domains.size + 1, dtype=np.int64))
