"""The sums of tallies by topology domain."""

from __future__ import annotations

from collections.abc import Iterable

from apps.scheduler.cache.domains import Domains
from apps.scheduler.cache.pod_index import Sums
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.plugins.interpodaffinity.existing import CarriedTally
from apps.scheduler.plugins.interpodaffinity.incoming import Tally

#: the nodes grouped by a topology key, and the sums of its tally
Totals = tuple[Domains, Sums]


def totals_of_pods(snapshot: Snapshot, tallies: Iterable[Tally]) -> list[Totals]:
    """Running pods that the terms of the incoming pod match."""
    return [
        (domains, snapshot.pods_by_labels.totals(tally, domains))
        for tally in tallies
        for domains in (snapshot.domains(tally.topology_key),)
    ]


def totals_of_terms(snapshot: Snapshot, tallies: Iterable[CarriedTally]) -> list[Totals]:
    """Running pods by their terms that match the incoming pod."""
    return [
        (domains, snapshot.pods_by_term.totals(tally, domains))
        for tally in tallies
        for domains in (snapshot.domains(tally.topology_key),)
    ]
