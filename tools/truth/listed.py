"""What docs/differences.md lists, and what is random in the real server: removed from answers.

An exchange that is equal only without these counts as listed, not as equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

Body = dict[str, Any]

#: Managers of what the API server itself writes of objects.
OWN: Final = ("kube-apiserver", "api-priority-and-fairness-config-consumer-v1")
#: Kinds whose status is written by controllers of the API server, or by others.
_STATUS: Final = ("APIService", "FlowSchema", "PriorityLevelConfiguration", "ResourceQuota")
#: Collections in which the server keeps notes of its own.
NOTES: Final = (
    "/api/v1/namespaces/default/events",
    "/apis/events.k8s.io/v1/namespaces/default/events",
    "/api/v1/namespaces/default/services",
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
    "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
    "/apis/networking.k8s.io/v1/ipaddresses",
    "/apis/networking.k8s.io/v1/servicecidrs",
)
#: Collections in which a server with gates, or with custom resources, has more of its own.
_GATED: Final = (
    "/apis/apiregistration.k8s.io/v1/apiservices",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
)
_OF_GATES: Final = frozenset(
    ("system:controller:podgroup-protection-controller", "v1alpha2.scheduling.k8s.io")
)
#: The label of APIServices of custom resources.
_AUTOMANAGED: Final = "kube-aggregator.kubernetes.io/automanaged"
#: Cells that show a status.
_CELLS: Final = ("Request", "Limit", "MissingPL", "Available")
_ADDRESS: Final = re.compile(r"\d+\.\d+\.\d+\.\d+")
_FORMATS: Final = re.compile(
    r"(accepted(?: media types include)?: .*), application/vnd\.kubernetes\.protobuf"
)


def without_listed(answer: Body, kind: str, path: str, notes: frozenset[str]) -> Body:
    """The answer to a request about this kind, without what is listed; ``notes`` are names."""
    body = answer["body"]
    if answer["status"] == 403:
        answer = {**answer, "warnings": []}
    if kind in _STATUS:
        body = _each(body, _without_status)
    if all("unrecognized format" in each for each in answer["warnings"]):
        # the server reads fields in random order
        answer = {**answer, "warnings": sorted(answer["warnings"])}
    place = path.partition("?")[0]
    if place in NOTES:
        body = _without_notes(body, notes)
    elif place in _GATED:
        body = _without_notes(body, _OF_GATES)
    return {**answer, "body": _each(body, _ordered)}


def _each(value: Any, change: Callable[[Body], Body]) -> Any:
    if isinstance(value, list):
        return [_each(item, change) for item in value]
    if not isinstance(value, dict):
        return value
    return change({name: _each(item, change) for name, item in value.items()})


def _without_status(value: Body) -> Body:
    """Without what others than the client write, in objects and in tables of them."""
    kept = {name: item for name, item in value.items() if name != "status" or item == "Failure"}
    if isinstance(kept.get("managedFields"), list):
        kept["managedFields"] = [
            entry for entry in kept["managedFields"] if entry["manager"] not in OWN
        ]
    if kept.get("kind") == "Table":
        columns = [each["name"] for each in kept["columnDefinitions"] or ()]
        hidden = [index for index, name in enumerate(columns) if name in _CELLS]
        kept["rows"] = [_hide(row, hidden) for row in kept["rows"] or ()]
    return kept


def _hide(row: Body, hidden: list[int]) -> Body:
    cells = ["<status>" if index in hidden else cell for index, cell in enumerate(row["cells"])]
    return {**row, "cells": cells}


def _hide_address(row: Body, hidden: list[int]) -> Body:
    """A row without the addresses that its server has chosen at random."""
    cells = [
        _ADDRESS.sub("<ip>", cell) if index in hidden and isinstance(cell, str) else cell
        for index, cell in enumerate(row["cells"])
    ]
    return {**row, "cells": cells}


def _without_notes(body: Any, notes: frozenset[str]) -> Any:
    if not isinstance(body, dict):
        return body
    kept = dict(body)
    for field in ("items", "rows"):
        if isinstance(kept.get(field), list):
            kept[field] = [item for item in kept[field] if not _is_note(item, notes)] or None
        elif field in kept:
            kept[field] = None
    if "items" in kept or "rows" in kept:
        metadata = kept.get("metadata") or {}
        counted = ("continue", "remainingItemCount")
        kept["metadata"] = {name: each for name, each in metadata.items() if name not in counted}
    return kept


def _is_note(item: Body, notes: frozenset[str]) -> bool:
    """Whether the server has written an object: those of its start, and events, which follow."""
    metadata = (item.get("object") or item).get("metadata") or {}
    managers = {entry["manager"] for entry in metadata.get("managedFields") or ()}
    if (metadata.get("labels") or {}).get(_AUTOMANAGED) == "true":
        return True
    return metadata.get("name") in notes or not managers.isdisjoint(OWN)


def _ordered(value: Body) -> Body:
    """Causes and custom resources in an order of their own; no protobuf, no random addresses."""
    if value.get("kind") == "APIResourceList" and isinstance(value.get("resources"), list):
        return {**value, "resources": sorted(value["resources"], key=lambda each: each["name"])}
    if value.get("kind") == "Table":
        columns = [each["name"] for each in value["columnDefinitions"] or ()]
        hidden = [index for index, name in enumerate(columns) if name == "Cluster-IP"]
        return {**value, "rows": [_hide_address(row, hidden) for row in value["rows"] or ()]}
    if value.get("kind") != "Status" or not isinstance(value.get("message"), str):
        return value
    value = {**value, "message": _FORMATS.sub(r"\1", value["message"])}
    causes = (value.get("details") or {}).get("causes")
    if value.get("reason") != "Invalid" or not causes:
        return value
    message = value["message"]
    texts = [f"{cause.get('field')}: {cause['message']}" for cause in causes]
    for text in texts:
        message = message.replace(text, "<cause>", 1)
    ordered = sorted(causes, key=lambda cause: sorted(cause.items()))
    details = {**value["details"], "causes": ordered}
    return {**value, "message": [message, sorted(texts)], "details": details}
