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


def get_component(call: Call) -> Answer:
    name = call.target.name
    for component in list_components(call.cluster):
        if component["metadata"]["name"] == name:
            return Answer(component)
    raise NotFound(call.resource.plural, name)


def list_component_statuses(call: Call) -> Answer:
    wanted = params.list_options(call.query)
    matcher = Matcher(call.resource.kind, None, wanted.labels, wanted.fields)
    items = [each for each in list_components(call.cluster) if matcher.matches(each)]
    return Answer({}, items=items)


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
    page = _page(call, merged, wanted, stored.version)
    return Answer({}, items=page.items, metadata=page.metadata())


def _page(
    call: Call, leases: dict[tuple[str, str], Body], wanted: ListOptions, version: int
) -> ListPage[list[Body]]:
    """The page that `limit` and `continue` request, of the current state."""
    keys, namespace = sorted(leases), call.target.namespace
    if wanted.continue_:
        last = listing.parse_position(wanted).last(call.resource.kind, namespace)
        keys = [key for key in keys if key > last]
    shown = keys[: wanted.limit or None]
    more = len(keys) - len(shown)
    continue_ = Position.after(listing.CURRENT, shown[-1], namespace) if more else None
    token = listing.token(continue_) if continue_ else ""
    remaining = None if wanted.labels or wanted.fields else more
    return ListPage([leases[key] for key in shown], version, token, remaining)


def _key(lease: Body) -> tuple[str, str]:
    return lease["metadata"]["namespace"], lease["metadata"]["name"]
