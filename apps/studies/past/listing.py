"""The nodes and pods of a snapshot that match filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from apps.cluster.errors import BadRequest
from apps.cluster.selectors import label_requirements
from apps.engine.periods import wrong
from apps.scheduler.labels.selectors import Requirement
from apps.studies.past.snapshot_differences import NodeChange, PodChange, PodDifference
from apps.studies.past.snapshots import Snapshot
from apps.studies.past.versions import NodeVersion, PodVersion

#: (parameter, meaning) of the filters of pods and of nodes.
POD_FILTERS: Final = (
    ("q", "Part of the name, with or without namespace."),
    ("namespace", "Its namespace."),
    ("node", "The name of its node."),
    ("state", "Its state: `pending` (without a node), `bound`, or a phase."),
    ("labels", "A label selector: `app=web,tier!=db`."),
)
NODE_FILTERS: Final = (
    ("q", "Part of the name."),
    ("state", "`ready`, `not-ready` or `cordoned`."),
    ("labels", "A label selector: `topology.kubernetes.io/zone=zone-1`."),
)
POD_STATES: Final = ("pending", "bound", "Pending", "Running", "Succeeded", "Failed", "Unknown")
_NODE_STATES: Final[Mapping[str, Callable[[NodeVersion], bool]]] = {
    "ready": lambda node: node.ready and not node.unschedulable,
    "not-ready": lambda node: not node.ready,
    "cordoned": lambda node: node.unschedulable,
}
NODE_STATES: Final = tuple(_NODE_STATES)
POD_CHANGES: Final = tuple(change.value for change in PodChange)
NODE_CHANGES: Final = tuple(change.value for change in NodeChange)


def list_pods(snapshot: Snapshot, query: Mapping[str, Any]) -> list[PodVersion]:
    """The pods that match POD_FILTERS, by namespace and name; BadRequest for an invalid filter."""
    given = _read(query, POD_FILTERS)
    state, wanted = given["state"], _requirements(given["labels"])
    if state and state not in POD_STATES:
        raise wrong("state", f"{state!r} is not one of {', '.join(POD_STATES)}")
    pods = [
        pod
        for pod in snapshot.pods.values()
        if given["q"] in pod.key
        and given["namespace"] in ("", pod.namespace)
        and given["node"] in ("", pod.node)
        and (not state or _has_state(pod, state))
        and all(each.matches(pod.labels) for each in wanted)
    ]
    return sorted(pods, key=lambda pod: (pod.namespace, pod.name))


def list_nodes(snapshot: Snapshot, query: Mapping[str, Any]) -> list[NodeVersion]:
    """The nodes that match NODE_FILTERS, by name; BadRequest for an invalid filter."""
    given = _read(query, NODE_FILTERS)
    state, wanted = given["state"], _requirements(given["labels"])
    if state and state not in NODE_STATES:
        raise wrong("state", f"{state!r} is not one of {', '.join(NODE_STATES)}")
    nodes = [
        node
        for node in snapshot.nodes.values()
        if given["q"] in node.name
        and (not state or _NODE_STATES[state](node))
        and all(each.matches(node.labels) for each in wanted)
    ]
    return sorted(nodes, key=lambda node: node.name)


def add_requests(snapshot: Snapshot, nodes: Sequence[NodeVersion]) -> list[NodeVersion]:
    """The nodes with what their pods request in the snapshot."""
    return [replace(node, requested=snapshot.requested.get(node.name, {})) for node in nodes]


def select_pod_differences(
    differences: list[PodDifference], query: Mapping[str, Any]
) -> list[PodDifference]:
    """The differences with the `change`, `namespace` and part of the name `q` that are given.

    BadRequest names a wrong one.
    """
    given = _read(query, (("change", ""), ("namespace", ""), ("q", "")))
    if given["change"] and given["change"] not in POD_CHANGES:
        raise wrong("change", f"{given['change']!r} is not one of {', '.join(POD_CHANGES)}")
    return [
        each
        for each in differences
        if given["change"] in ("", each.change)
        and given["namespace"] in ("", each.namespace)
        and given["q"] in each.key
    ]


def _has_state(pod: PodVersion, state: str) -> bool:
    if state in ("pending", "bound"):
        return not pod.is_finished and bool(pod.node) == (state == "bound")
    return pod.phase == state


def _read(query: Mapping[str, Any], filters: tuple[tuple[str, str], ...]) -> dict[str, str]:
    given = {name: str(query.get(name) or "").strip() for name, _ in filters}
    for name, value in given.items():
        if "\x00" in value:
            raise BadRequest(f"{name}: contains a NUL character")
    return given


def _requirements(text: str) -> list[Requirement]:
    try:
        return list(label_requirements(text)) if text else []
    except BadRequest as error:
        raise wrong("labels", error.message) from None
