"""Required terms: which nodes are in domains that violate them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.cache.domains import Domains
from apps.scheduler.cache.pod_index import Sums
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.affinity_terms import TermKind
from apps.scheduler.framework.interface import Verdicts
from apps.scheduler.framework.lazy import lazy
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns
from apps.scheduler.framework.status import unresolvable, unschedulable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.interpodaffinity.existing import CarriedTally, Existing
from apps.scheduler.plugins.interpodaffinity.incoming import Incoming, Tally
from apps.scheduler.plugins.interpodaffinity.totals import (
    Totals,
    totals_of_pods,
    totals_of_terms,
)

FlagArray = NDArray[np.uint8]

#: domains with more pods that are entered one by one; more than these are worth new tables
_MAX_SLOTS: Final = 16

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
#: domains and, for each of them and for nodes without a domain, (size + 1,) uint8 flags
Table = tuple[Domains, FlagArray]
#: a flag for one of the domains, by its slot
Flag = tuple[Domains, int, int]


@dataclass(frozen=True)
class RequiredCounts:
    """The counts for the required terms that concern a pod. Immutable."""

    incoming: Incoming
    #: whether the pod matches all of its own affinity terms
    likes_itself: bool
    #: pods that match all of the pod's affinity terms
    affinity: Counts
    #: pods that match one of its anti-affinity terms
    anti_affinity: Counts
    #: running pods' anti-affinity terms that the pod matches
    existing: Counts

    @lazy
    def tables(self) -> list[Table]:
        """For each topology key that refuses a node."""
        tables: dict[str, Table] = {}
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

    @lazy
    def whole(self) -> Verdicts | None:
        """The verdicts on all rows of the snapshot."""
        return _find_verdicts(self.tables, None)

    def after(self, before: RequiredCounts) -> RequiredCounts:
        """These counts with the verdicts of the counts ``before`` if no table differs."""
        if len(self.tables) == len(before.tables) and all(
            new[0] is old[0] and np.array_equal(new[1], old[1])
            for new, old in zip(self.tables, before.tables, strict=True)
        ):
            self.__dict__["whole"] = before.whole
        return self

    def with_flags(self, flags: Iterable[Flag]) -> RequiredCounts | None:
        """The counts with these flags in the tables.

        None if nothing in one of the domains has its flag yet. The counts are the same objects:
        they have changed already.
        """
        if self.whole is None:
            return None
        tables, ids = self.tables, self.whole.ids
        for domains, slot, flag in flags:
            place = self._place_of(domains, flag)
            if place is None:
                return None
            table = tables[place][1]
            if table[slot] & flag:
                continue
            if tables is self.tables:
                tables, ids = tables.copy(), ids.copy()
            if table is self.tables[place][1]:
                table = table.copy()
                tables[place] = (domains, table)
            table[slot] |= flag
            ids[domains.rows_in(slot)] |= flag
        if tables is self.tables:
            return self
        changed = RequiredCounts.__new__(RequiredCounts)
        verdicts = Verdicts(ids, _STATUSES)
        changed.__dict__.update(self.__dict__, tables=tables, whole=verdicts)
        return changed

    def _place_of(self, domains: Domains, flag: int) -> int | None:
        """The position of the table of ``domains``; None if no count of this flag is there."""
        counts = self.anti_affinity if flag == _ANTI_AFFINITY else self.existing
        for count in counts.values():
            if count.domains is domains:
                break
        else:
            return None
        for place, (each, _) in enumerate(self.tables):
            if each is domains:
                return place
        return None

    def _is_first_of_its_kind(self) -> bool:
        """Whether no running pod matches the affinity terms, but the pod itself does.

        It may then start a new group on any node that has the topology keys.
        """
        return self.likes_itself and not any(count.totals.any() for count in self.affinity.values())


@dataclass(frozen=True, slots=True)
class PreFilterState:
    """Immutable: AddPod and RemovePod replace it."""

    pod: PodInfo
    namespace_labels: Mapping[str, str]
    counts: RequiredCounts

    def clone(self) -> PreFilterState:
        return self

    def with_change(
        self, other: PodInfo, row: int, amount: int, domains_of: Callable[[str], Domains]
    ) -> PreFilterState:
        """The state with ``other`` added to (+1) or removed from (-1) the row."""
        counts, incoming = self.counts, self.counts.incoming
        changed = replace(
            counts,
            affinity=_add(counts.affinity, incoming.affinity, other, row, amount),
            anti_affinity=_add(counts.anti_affinity, incoming.anti_affinity, other, row, amount),
            existing=self._add_to_existing(other, row, amount, domains_of),
        )
        return replace(self, counts=changed)

    def _add_to_existing(
        self, other: PodInfo, row: int, amount: int, domains_of: Callable[[str], Domains]
    ) -> Counts:
        counts = dict(self.counts.existing)
        for carried in other.terms.carried:
            if carried.kind is not TermKind.REQUIRED_ANTI_AFFINITY:
                continue
            if carried.term.matches(self.pod.pod, self.namespace_labels):
                key = carried.term.topology_key
                counts[key] = (counts.get(key) or _empty(domains_of(key))).plus(row, amount)
        return counts


class AffinityFilter:
    """The counts of PreFilter for pods that the plugin cannot tell apart.

    They are reused until the pods that they count change.
    """

    def __init__(self, incoming: Incoming, existing: Existing, *, likes_itself: bool) -> None:
        self._incoming = incoming
        self._existing = existing
        self._likes_itself = likes_itself
        self._node_version = -1
        #: what the last counts were computed from
        self._seen: list[tuple[Sums, int]] = []
        self._counts: RequiredCounts | None = None

    def counts(self, snapshot: Snapshot) -> RequiredCounts | None:
        """None if no node can be refused."""
        totals = (
            totals_of_pods(snapshot, self._incoming.affinity),
            totals_of_pods(snapshot, self._incoming.anti_affinity),
            totals_of_terms(snapshot, self._existing.anti_affinity),
        )
        seen = [(sums, sums.position) for each in totals for _, sums in each]
        if self._counts is None or self._node_version != snapshot.node_version:
            self._counts, self._node_version = self._count(*totals), snapshot.node_version
        elif seen != self._seen:
            known = self._follow(self._counts, totals)
            self._counts = self._count(*totals).after(self._counts) if known is None else known
        self._seen = seen
        if not self._counts.existing and self._asks_nothing:
            return None
        return self._counts

    def _follow(
        self, known: RequiredCounts, totals: tuple[Sequence[Totals], ...]
    ) -> RequiredCounts | None:
        """``known`` after pods were added to a few domains; None if more has changed."""
        before, flags = iter(self._seen), list[Flag]()
        if len(self._seen) != sum(map(len, totals)) or totals[0]:
            return None
        for flag, group in ((_ANTI_AFFINITY, totals[1]), (_EXISTING_ANTI_AFFINITY, totals[2])):
            for (domains, sums), (seen, position) in zip(group, before, strict=False):
                slots = sums.log.since(position) if sums is seen else None
                if slots is None or len(slots) > _MAX_SLOTS:
                    return None
                for slot in slots:
                    if not sums.values[slot]:
                        return None
                    flags.append((domains, slot, flag))
        return known.with_flags(flags)

    def _count(
        self, affinity: Sequence[Totals], anti: Sequence[Totals], existing: Sequence[Totals]
    ) -> RequiredCounts:
        against = _counts(self._existing.anti_affinity, existing)
        counts = RequiredCounts(
            self._incoming,
            self._likes_itself,
            _counts(self._incoming.affinity, affinity),
            _counts(self._incoming.anti_affinity, anti),
            {key: count for key, count in against.items() if count.totals.any()},
        )
        # The totals change with the next snapshot, the tables do not.
        counts.tables  # noqa: B018
        return counts

    @lazy
    def _asks_nothing(self) -> bool:
        return not self._incoming.affinity and not self._incoming.anti_affinity


def verdicts(counts: RequiredCounts, nodes: NodeColumns, *, whole: bool) -> Verdicts | None:
    """``whole``: ``nodes`` is the snapshot itself, so that its positions are the rows."""
    return counts.whole if whole else _find_verdicts(counts.tables, nodes.snapshot_rows)


def _find_verdicts(tables: Iterable[Table], rows: Int64Array | None) -> Verdicts | None:
    """The verdicts on these rows of the snapshot (None = all)."""
    flags: FlagArray | None = None
    for domains, table in tables:
        counts = table.take(domains.slots if rows is None else domains.slots[rows])
        flags = counts if flags is None else flags | counts
    return None if flags is None else Verdicts(flags.astype(np.uint16), _STATUSES)


def _counts(tallies: Iterable[Tally | CarriedTally], totals: Iterable[Totals]) -> Counts:
    return {
        tally.topology_key: Count(domains, sums.values)
        for tally, (domains, sums) in zip(tallies, totals, strict=True)
    }


def _add(counts: Counts, tallies: Iterable[Tally], other: PodInfo, row: int, amount: int) -> Counts:
    return {
        tally.topology_key: counts[tally.topology_key].plus(row, amount * tally.of(other))
        for tally in tallies
    }


def _empty(domains: Domains) -> Count:
    return Count(domains, np.zeros(domains.size + 1, dtype=np.int64))
