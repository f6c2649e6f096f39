"""The skew that one more pod in a node's domains would cause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.plugins.helper.node_text import list_names
from apps.scheduler.plugins.podtopologyspread.filtering import HardConstraint, PreFilterState

#: the most domains listed in a sentence
_DOMAINS: Final = 6


def too_uneven(state: PreFilterState, row: int, snapshot: Snapshot) -> Iterator[Detail]:
    """For each constraint that refuses the node: the counts of the domains, and the skew."""
    for number, each in enumerate(state.constraints, 1):
        slot = int(each.domains.slots[row])
        if each.table[slot]:
            yield _constraint_not_met(snapshot, number, each, slot)


def _constraint_not_met(snapshot: Snapshot, number: int, each: HardConstraint, slot: int) -> Detail:
    key, constraint = each.constraint.topology_key, each.constraint
    head = f"spread constraint {number} ({key}, maxSkew {constraint.max_skew})"
    if slot == each.domains.size:
        return Detail(f"{head}: the node has no label {key}", {"constraint": number, "key": key})
    values = snapshot.label(key).values
    counts = {values[place]: int(each.totals[place]) for place in each.counted.inhabited.tolist()}
    here, name = int(each.totals[slot]), values[slot]
    skew = here + each.self_match - each.least
    ordered = sorted(counts.items(), key=lambda item: (item[1], item[0]))
    shown = list_names([f"{domain} {count}" for domain, count in ordered], _DOMAINS)
    least = f"the minimum is {each.least}"
    if len(counts) < constraint.min_domains:
        least += f" (only {len(counts)} of at least {constraint.min_domains} domains)"
    return Detail(
        f"{head}: {name} has {here} matching pods, {least}; one more results in a skew of {skew} "
        f"(pods by domain: {shown})",
        {
            "constraint": number,
            "key": key,
            "maxSkew": constraint.max_skew,
            "domain": name,
            "matching": here,
            "minimum": each.least,
            "skew": skew,
            "counts": dict(ordered),
        },
    )
