"""Where other pods are: spread constraints with their counts, affinity with whom it is about."""

from __future__ import annotations

from collections.abc import Iterator

from apps.scheduler.explaining.node_rules import label_text
from apps.scheduler.explaining.room import listed
from apps.scheduler.explaining.sight import Detail, Spot
from apps.scheduler.framework.affinity_terms import AffinityTerm, TermKind
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.podtopologyspread.filtering import HardConstraint, PreFilterState
from apps.scheduler.plugins.podtopologyspread.plugin import PRE_FILTER_STATE

#: domains whose counts are named in a sentence
_DOMAINS = 6


def too_uneven(spot: Spot, status: Status) -> Iterator[Detail]:
    """For each constraint that refuses the node: the counts of the domains, and the skew."""
    state = spot.state.read(PRE_FILTER_STATE, PreFilterState)
    for number, each in enumerate(state.constraints, 1):
        slot = int(each.domains.slots[spot.row])
        if each.table[slot]:
            yield _spread(spot, number, each, slot)


def _spread(spot: Spot, number: int, each: HardConstraint, slot: int) -> Detail:
    key, constraint = each.constraint.topology_key, each.constraint
    head = f"spread constraint {number} ({key}, maxSkew {constraint.max_skew})"
    if slot == each.domains.size:
        return Detail(f"{head}: the node has no label {key}", {"constraint": number, "key": key})
    values = spot.sight.snapshot.label(key).values
    counts = {values[place]: int(each.totals[place]) for place in each.counted.inhabited.tolist()}
    here, name = int(each.totals[slot]), values[slot]
    skew = here + each.self_match - each.least
    ordered = sorted(counts.items(), key=lambda item: (item[1], item[0]))
    shown = listed([f"{domain} {count}" for domain, count in ordered], _DOMAINS)
    least = f"the fewest count as {each.least}"
    if len(counts) < constraint.min_domains:
        least += f" (only {len(counts)} of at least {constraint.min_domains} domains)"
    return Detail(
        f"{head}: {name} has {here} matching pods, {least}; one more there makes a skew of {skew} "
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


def affinity_not_met(spot: Spot, status: Status) -> Iterator[Detail]:
    """The terms of the pod, or of pods that run, which the node does not meet."""
    pod = spot.sight.pod
    if any("existing pods" in reason for reason in status.reasons):
        yield from _unwanted(spot)
    elif any("anti-affinity" in reason for reason in status.reasons):
        for number, term in enumerate(pod.terms.required_anti_affinity, 1):
            others = _about(spot, term)
            if others:
                yield Detail(
                    f"anti-affinity term {number} keeps away from {_pods(term)} in the same "
                    f"{_domain(spot, term)}: {listed(others)}",
                    {"term": number, "key": term.topology_key, "pods": others},
                )
    else:
        for number, term in enumerate(pod.terms.required_affinity, 1):
            if not _labels(spot).get(term.topology_key):
                yield Detail(
                    f"affinity term {number}: the node has {_domain(spot, term)}",
                    {"term": number, "key": term.topology_key},
                )
            elif not _about(spot, term):
                yield Detail(
                    f"affinity term {number} wants {_pods(term)} in the same {term.topology_key}: "
                    f"there are none in {_labels(spot)[term.topology_key]}",
                    {"term": number, "key": term.topology_key, "pods": []},
                )


def _unwanted(spot: Spot) -> Iterator[Detail]:
    """Running pods whose required anti-affinity is about this pod."""
    pod, listers = spot.sight.pod, spot.sight.framework.handle.listers
    namespace = listers.namespaces.get(pod.namespace)
    labels = namespace.metadata.labels if namespace is not None else {}
    found: dict[str, list[str]] = {}
    for other, at in _everybody(spot):
        for carried in other.terms.carried:
            key = carried.term.topology_key
            here = _labels(spot).get(key)
            if (
                carried.kind is TermKind.REQUIRED_ANTI_AFFINITY
                and here is not None
                and at.get(key) == here
                and carried.term.matches(pod.pod, labels)
            ):
                found.setdefault(f"{key}={here}", []).append(other.key)
    for domain, pods in found.items():
        yield Detail(
            f"pods in {domain} keep away from pods like this one: {listed(pods)}",
            {"domain": domain, "pods": pods},
        )


def _about(spot: Spot, term: AffinityTerm) -> list[str]:
    """Keys of the pods in the node's domain which a term is about."""
    here = _labels(spot).get(term.topology_key)
    listers = spot.sight.framework.handle.listers
    found = []
    for other, at in _everybody(spot):
        if here is None or at.get(term.topology_key) != here:
            continue
        namespace = listers.namespaces.get(other.namespace)
        labels = namespace.metadata.labels if namespace is not None else {}
        if term.matches(other.pod, labels):
            found.append(other.key)
    return found


def _everybody(spot: Spot) -> Iterator[tuple[PodInfo, dict[str, str]]]:
    """Every pod on a node, with the node's labels."""
    snapshot = spot.sight.snapshot
    for row in snapshot.order.tolist():
        info = spot.info if row == spot.row else snapshot.info(row)
        assert info.node is not None
        for pod in info.pods.values():
            yield pod, info.node.metadata.labels


def _labels(spot: Spot) -> dict[str, str]:
    assert spot.info.node is not None
    return spot.info.node.metadata.labels


def _pods(term: AffinityTerm) -> str:
    return f"pods with {term.selector}" if str(term.selector) else "all pods"


def _domain(spot: Spot, term: AffinityTerm) -> str:
    return label_text(_labels(spot), term.topology_key)
