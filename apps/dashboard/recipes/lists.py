"""The recipes of lists, with the filters of the address."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping

from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.dashboard.queries.usage import NO_ZONE, ZONE_LABEL
from apps.dashboard.recipes.recipe import Condition, Recipe
from apps.engine.ledger import finding
from apps.studies.history import change_search, event_search

Query = Mapping[str, str]

_READY = Condition(
    'any(.status.conditions[]?; .type == "Ready" and .status == "True")',
    'any(c["type"] == "Ready" and c["status"] == "True" '
    'for c in item["status"].get("conditions", []))',
)
_NOT_READY = Condition(f"{_READY.jq} | not", f"not {_READY.python}")
_SCHEDULABLE = Condition(".spec.unschedulable != true", 'not item["spec"].get("unschedulable")')
_NODE_STATES = {"ready": (_READY, _SCHEDULABLE), "not-ready": (_NOT_READY,)}
_ACTIVE = "status.phase!=Succeeded,status.phase!=Failed"
_POD_STATES = {
    "pending": f"spec.nodeName=,{_ACTIVE}",
    "bound": f"spec.nodeName!=,{_ACTIVE}",
    "succeeded": "status.phase=Succeeded",
    "failed": "status.phase=Failed",
}
#: list -> its address below that of the cluster, and the filters that the API has too
_CONTROL: Mapping[str, tuple[str, Collection[str]]] = {
    "decisions": ("decisions", [each.name for each in finding.PARAMETERS]),
    "queue": ("queue", ("namespace",)),
    "queue history": ("queue/history", ("pod", "plugin", "since", "until")),
    "profiles": ("profiles", ()),
    "changes": ("changes", change_search.PARAMETERS),
    "recorded events": ("events", event_search.PARAMETERS),
}


def list_recipe(name: str, cluster: str, query: Query, kind: Kind | None = None) -> Recipe:
    """The recipe of a list; `kind` for a list of objects."""
    if kind is not None:
        return _objects(cluster, kind, query)
    if name in _BY_NAME:
        return _BY_NAME[name](cluster, query)
    return _recorded(name, f"/api/v1/clusters/{cluster}", query)


def past_recipe(name: str, cluster_id: int, query: Query) -> Recipe:
    """The recipe of a list of a deleted cluster."""
    name = "recorded events" if name == "events" else name
    return _recorded(name, f"/api/v1/history/clusters/{cluster_id}", query)


def _recorded(name: str, root: str, query: Query) -> Recipe:
    path, known = _CONTROL[name]
    given = {key: query[key] for key in known if query.get(key)}
    return Recipe(f"List {path.replace('/', ' ')}", f"{root}/{path}", query=given)


def site_recipe(name: str, query: Query) -> Recipe:
    """The recipe of the list of clusters or of operations."""
    given = {"state": query["state"]} if name == "operations" and query.get("state") else {}
    return Recipe(f"List {name}", f"/api/v1/{name}", query=given)


def object_path(cluster: str, kind: Kind, namespace: str = "", name: str = "") -> str:
    """The path of an object in the Kubernetes API; without a name, of a list."""
    version = kind.api_version
    root = f"/k8s/{cluster}/{'apis' if '/' in version else 'api'}/{version}"
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{inside}/{kind.plural}{f'/{name}' if name else ''}"


def _nodes(cluster: str, query: Query) -> Recipe:
    selectors: dict[str, str] = {}
    if zone := query.get("zone", ""):
        selectors["labelSelector"] = f"!{ZONE_LABEL}" if zone == NO_ZONE else f"{ZONE_LABEL}={zone}"
    state = query.get("state", "")
    if state == "cordoned":
        selectors["fieldSelector"] = "spec.unschedulable=true"
    conditions = [*_name_contains(query), *_NODE_STATES.get(state, ())]
    return _listing(cluster, kinds.NODE, selectors, conditions)


def _pods(cluster: str, query: Query) -> Recipe:
    fields = [_POD_STATES[state] for state in [query.get("state", "")] if state in _POD_STATES]
    if node := query.get("node", "").strip():
        fields.append(f"spec.nodeName={node}")
    selectors = {"fieldSelector": ",".join(fields), "labelSelector": query.get("labels", "")}
    conditions = _name_contains(query)
    if priority := query.get("priority", "").strip():
        conditions.append(
            Condition(
                f".spec.priority == {int(priority)}", f'item["spec"]["priority"] == {priority}'
            )
        )
    return _listing(cluster, kinds.POD, selectors, conditions, query.get("namespace", ""))


def _objects(cluster: str, kind: Kind, query: Query) -> Recipe:
    conditions = _name_contains(query)
    return _listing(cluster, kind, {}, conditions, query.get("namespace", ""))


def _events(cluster: str, query: Query) -> Recipe:
    given = query.get("type", "")
    selectors = {"fieldSelector": f"type={given}" if given else ""}
    return _listing(cluster, kinds.EVENT, selectors, [], query.get("namespace", ""))


def _listing(
    cluster: str,
    kind: Kind,
    selectors: Mapping[str, str],
    conditions: list[Condition],
    namespace: str = "",
) -> Recipe:
    given = {name: value for name, value in selectors.items() if value}
    options = {"labelSelector": "-l", "fieldSelector": "--field-selector"}
    kubectl = ["get", kind.qualified_plural]
    if kind.namespaced:
        kubectl += ["-n", namespace] if namespace else ["-A"]
    for name, value in given.items():
        kubectl += [options[name], value]
    return Recipe(
        f"List {kind.plural}",
        object_path(cluster, kind, namespace),
        query=given,
        conditions=conditions,
        kubectl=kubectl,
    )


def _name_contains(query: Query) -> list[Condition]:
    text = query.get("q", "").strip()
    if not text:
        return []
    quoted = json.dumps(text)
    return [
        Condition(f".metadata.name | contains({quoted})", f'{text!r} in item["metadata"]["name"]')
    ]


_BY_NAME: Mapping[str, Callable[[str, Query], Recipe]] = {
    "nodes": _nodes,
    "pods": _pods,
    "events": _events,
}
