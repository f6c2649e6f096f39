"""Everything that stands against one node, plugin by plugin, with exact figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from apps.scheduler.explaining import node_rules, room, topology
from apps.scheduler.explaining.sight import Detail, Refusal, Sight, Spot
from apps.scheduler.framework.status import Status, unresolvable
from apps.scheduler.plugins import names
from apps.scheduler.plugins.node_affinity import REASON_POD

_DETAILS: Final[Mapping[str, Callable[[Spot, Status], Iterator[Detail]]]] = {
    names.NODE_RESOURCES_FIT: room.resources_short,
    names.NODE_PORTS: room.ports_taken,
    names.NODE_AFFINITY: node_rules.labels_missing,
    names.NODE_NAME: node_rules.another_name,
    names.NODE_UNSCHEDULABLE: node_rules.cordoned,
    names.TAINT_TOLERATION: node_rules.taints_not_tolerated,
    names.POD_TOPOLOGY_SPREAD: topology.too_uneven,
    names.INTER_POD_AFFINITY: topology.affinity_not_met,
    names.VOLUME_BINDING: node_rules.volumes_out_of_reach,
}


def refusals_at(sight: Sight, row: int) -> list[Refusal]:
    """The plugins that refuse a node, in the order in which they are asked; first the decisive one.

    A rejection by PreFilter is one for every node.
    """
    if not sight.outcome.is_success:
        return [Refusal(sight.outcome.plugin, sight.outcome, (_in_words(sight.outcome),))]
    spot, crowded = sight.spot(row), None
    found = []
    names_allowed = sight.narrowed.node_names
    if names_allowed is not None and sight.snapshot.names[row] not in names_allowed:
        found.append(_outside(names_allowed))
    for name in sight.framework.filters.names:
        refusal = _ask(spot, name)
        if refusal is None and spot.nominated:
            crowded = crowded or _with_nominated(spot)
            refusal = _ask(crowded, name)
            refusal = replace(refusal, for_nominated=True) if refusal is not None else None
        if refusal is not None:
            found.append(refusal)
    # what is refused without nominated pods is told first, as the filters do
    return sorted(found, key=lambda each: each.for_nominated)


def _ask(spot: Spot, name: str) -> Refusal | None:
    if name in spot.state.skip_filter:
        return None
    sight = spot.sight
    status = sight.framework.filters.run_filter_plugin(name, spot.state, sight.pod, spot.nodes).at(
        0
    )
    if status is None:
        return None
    explain = _DETAILS.get(name)
    details = tuple(explain(spot, status)) if explain is not None else ()
    return Refusal(name, status, details or (_in_words(status),))


def _with_nominated(spot: Spot) -> Spot:
    sight = spot.sight
    nodes = sight.snapshot.select(spot.nodes.snapshot_rows)
    state = spot.state.clone()
    for pod in spot.nominated:
        sight.framework.filters.add_pod(state, sight.pod, pod, nodes)
    return replace(spot, info=nodes.info(0), nodes=nodes, state=state)


def _outside(allowed: frozenset[str]) -> Refusal:
    named = ", ".join(sorted(allowed)[:3])
    more = f" and {len(allowed) - 3} more" if len(allowed) > 3 else ""
    status = unresolvable(REASON_POD)
    sentence = f"the pod's required node affinity names only {named or 'nodes that do not exist'}"
    detail = Detail(f"{sentence}{more}", {"allowed": sorted(allowed)})
    return Refusal(names.NODE_AFFINITY, status, (detail,))


def _in_words(status: Status) -> Detail:
    return Detail(status.message, {"reasons": list(status.reasons)})
