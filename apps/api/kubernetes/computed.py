"""Reads of objects that no row stores: component statuses, and the Leases of components.

A stored Lease takes the place of a computed one with the same name: a client that writes it, such
as a scheduler of its own, holds it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from apps.api.kubernetes import listing, params, verbs
from apps.api.kubernetes.calls import Answer, Call
from apps.api.kubernetes.listing import ListPage, Position
from apps.api.kubernetes.params import ListOptions
from apps.cluster.errors import NotFound
from apps.cluster.selectors import Matcher
from apps.engine.liveness.components import list_components
from apps.engine.liveness.leases import list_leases

Body = dict[str, Any]

_DEPRECATED = "v1 ComponentStatus is deprecated in v1.19+"


def get_component(call: Call) -> Answer:
    name = call.target.name
    for component in list_components(call.cluster):
        if component["metadata"]["name"] == name:
            return Answer(component, warnings=[_DEPRECATED])
    raise NotFound(call.resource.plural, name)


def list_component_statuses(call: Call) -> Answer:
    wanted = params.list_options(call.query)
    matcher = Matcher(call.resource.kind, None, wanted.labels, wanted.fields)
    items = [each for each in list_components(call.cluster) if matcher.matches(each)]
    return Answer({}, warnings=[_DEPRECATED], items=items)


def get_lease(call: Call) -> Answer:
    try:
        return verbs.get(call)
    except NotFound:
        computed = list_leases(call.cluster, call.namespace, call.target.name)
        if not computed:
            raise
        return Answer(computed[0])


def list_all_leases(call: Call) -> Answer:
    """The stored Leases, and those that components hold; of a past version only the stored ones."""
    wanted = params.list_options(call.query)
    namespace = call.target.namespace
    computed = [] if wanted.exact else list_leases(call.cluster, namespace)
    if not computed:
        return verbs.list_(call)
    matcher = Matcher(call.resource.kind, namespace, wanted.labels, wanted.fields)
    everything = replace(wanted, limit=0, continue_="", version=None)
    stored = listing.list_page(call.cluster, call.resource.kind, namespace, everything)
    merged = {_key(lease): lease for lease in computed if matcher.matches(lease)}
    merged |= {_key(lease): lease for lease in stored.items}
    page = _page(merged, wanted, stored.version)
    return Answer({}, items=page.items, metadata=page.metadata())


def _page(
    leases: dict[tuple[str, str], Body], wanted: ListOptions, version: int
) -> ListPage[list[Body]]:
    """The page that `limit` and `continue` request, of the current state."""
    start = listing.parse_position(wanted.continue_) if wanted.continue_ else None
    keys = sorted(key for key in leases if start is None or key > (start.namespace, start.name))
    shown = keys[: wanted.limit or None]
    more = len(keys) - len(shown)
    token = listing.token(Position(0, *shown[-1])) if more else ""
    remaining = None if wanted.labels or wanted.fields else more
    return ListPage([leases[key] for key in shown], version, token, remaining)


def _key(lease: Body) -> tuple[str, str]:
    return lease["metadata"]["namespace"], lease["metadata"]["name"]
