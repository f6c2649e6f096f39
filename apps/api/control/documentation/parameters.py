"""What path and query parameters mean, by name, with an example of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple


class Meaning(NamedTuple):
    description: str
    example: Any


#: Parameters in paths. A view whose parameter means something else declares it in `path_help`.
IN_PATHS: Final = {
    "cluster": Meaning("Name of the cluster.", "lab"),
    "cluster_id": Meaning("Id of the deleted cluster.", 2),
    "node": Meaning("Name of the node.", "node-1"),
    "namespace": Meaning("Namespace of the pod.", "default"),
    "revision": Meaning("Number of the revision.", 1),
}

#: Examples of query parameters, for operations whose first recorded call has none.
IN_QUERIES: Final[dict[str, Any]] = {
    "accept": "node-1",
    "action": "user-created",
    "address": "127.0.0.1",
    "against": "node-2",
    "at": "1m",
    "all": True,
    "attempt": 1,
    "before": 1,
    "change": "created",
    "chart": "pods",
    "cluster": "lab",
    "cluster_id": "$past_cluster",
    "clusters": "lab,bare",
    "cursor": "bz0xMDA=",
    "decision": "$unschedulable",
    "differences": True,
    "event": "NodeAdd",
    "expired": True,
    "format": "json",
    "group": "reason,node",
    "keep_uids": True,
    "kind": "Pod",
    "labels": "app!=db",
    "limit": 10,
    "main_plugin": "NodeResourcesFit",
    "main_reason": "Insufficient cpu",
    "min_attempt": 2,
    "name": "default",
    "namespace": "default",
    "node": "node-1",
    "page_size": 10,
    "plugin": "NodeResourcesFit",
    "pod": "default/huge",
    "pod_uid": "2626957f-3a2c-43de-a928-b923d82f3112",
    "profile": "default-scheduler",
    "q": "web",
    "queue": "unschedulable",
    "request": "d550dd9be1634a03ba89449d5c75b217",
    "reason": "Insufficient cpu",
    "reject": "node-1",
    "request_id": "d550dd9be1634a03ba89449d5c75b217",
    "result": "unschedulable",
    "revision": 1,
    "score": "NodeResourcesFit:node-1:50",
    "since": "2026-11-22T09:00:00Z",
    "sort": "-decisions",
    "state": "succeeded",
    "step": 10,
    "student": "ann",
    "text": "Insufficient cpu",
    "token": "ci",
    "type": "Warning",
    "until": "now",
    "user": "alice",
    "verb": "MODIFIED",
    "version": 12,
    "victim": "default/web-0",
    "with_history": False,
    "without": "TaintToleration",
    "workload": "Deployment/web",
    "zone": "Europe/Berlin",
}

#: Examples of parameters of events, instead of those in `IN_QUERIES`.
OF_EVENTS: Final = {"reason": "FailedScheduling"}

#: Meanings of parameters that their view does not describe.
DESCRIPTIONS: Final = {
    "limit": "Maximum number of rows.",
    "format": "The format of the response; the header `Accept` selects it, too.",
    "namespace": "Namespace of the pods.",
    "state": "Only operations in this state.",
    "queue": "The part of the queue to list.",
    "with_history": "Delete the decisions and changes of the cluster, too.",
    "pod_uid": "The uid of the pod.",
    "scope": "What the figures are about.",
}


def find_example(path: str, name: str, query: Mapping[str, Any]) -> Any:
    """An example of a query parameter, or None; *query* is the first recorded call's."""
    of_events = OF_EVENTS if "/events" in path else {}
    return query.get(name, of_events.get(name, IN_QUERIES.get(name)))
