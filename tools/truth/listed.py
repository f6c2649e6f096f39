"""What docs/differences.md lists, and what is random in the real server: removed from answers.

An exchange that is equal only without these counts as listed, not as equal. Each rule names its
row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

Body = dict[str, Any]

#: Managers of what the API server itself writes of objects.
OWN: Final = ("kube-apiserver", "api-priority-and-fairness-config-consumer-v1")
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
_ADDRESS: Final = re.compile(r"\d+\.\d+\.\d+\.\d+")
#: Kind -> the type of the condition that the API server writes of it, and the cell that shows it.
_CONDITIONS: Final = {
    "APIService": ("Available", "Available"),
    "FlowSchema": ("Dangling", "MissingPL"),
}
#: The cells of a quota that show what is counted.
_COUNTED: Final = ("Request", "Limit")
_APPROVED: Final = "KubernetesAPIApprovalPolicyConformant"
_PROTOBUF: Final = ", application/vnd.kubernetes.protobuf"
_EMPTY: Final = re.compile(r"(?<= value: )(?:\[\]|\{\})(?=: )")


@dataclass(frozen=True)
class Request:
    """What a rule needs to know of a request."""

    kind: str
    path: str
    #: names of what both servers keep from their start
    notes: frozenset[str]


@dataclass(frozen=True)
class Rule:
    """What a row of docs/differences.md excuses: removed from an answer, or blanked."""

    #: what the row begins with
    row: str
    remove: Callable[[Body, Request], Body]


def without_listed(answer: Body, kind: str, path: str, notes: frozenset[str]) -> Body:
    """The answer to a request about this kind, without what is listed; ``notes`` are names."""
    if all("unrecognized format" in each for each in answer["warnings"]):
        # the server reads fields in random order
        answer = {**answer, "warnings": sorted(answer["warnings"])}
    for rule in RULES:
        answer = rule.remove(answer, Request(kind, path.partition("?")[0], notes))
    return {**answer, "body": _each(answer["body"], _ordered)}


def _without_warnings(answer: Body, request: Request) -> Body:
    return {**answer, "warnings": []} if answer["status"] == 403 else answer


def _without_notes_of_server(answer: Body, request: Request) -> Body:
    if request.path not in NOTES:
        return answer
    return {**answer, "body": _without_notes(answer["body"], request.notes)}


def _without_gated(answer: Body, request: Request) -> Body:
    if request.path not in _GATED:
        return answer
    return {**answer, "body": _without_notes(answer["body"], _OF_GATES)}


def _without_counts(answer: Body, request: Request) -> Body:
    """A quota without what it counts, and without who owns its first status."""
    if request.kind != "ResourceQuota":
        return answer

    def change(value: Body) -> Body:
        value = _hide_cells(value, _COUNTED)
        if isinstance(value.get("status"), dict):
            status = value["status"]
            kept = {name: each for name, each in status.items() if name not in ("hard", "used")}
            return {**value, "status": kept}
        if "fieldsV1" in value and value.get("subresource") == "status":
            return {**value, "fieldsV1": {}}
        return value

    return {**answer, "body": _each(answer["body"], change)}


def _without_owners(answer: Body, request: Request) -> Body:
    if request.kind not in _CONDITIONS:
        return answer

    def change(value: Body) -> Body:
        entries = value.get("managedFields")
        if not isinstance(entries, list):
            return value
        kept = [
            each
            for each in entries
            if each["manager"] not in OWN or each.get("subresource") != "status"
        ]
        return {**value, "managedFields": kept}

    return {**answer, "body": _each(answer["body"], change)}


def _without_conditions(answer: Body, request: Request) -> Body:
    if request.kind not in _CONDITIONS:
        return answer
    condition, cell = _CONDITIONS[request.kind]

    def change(value: Body) -> Body:
        value = _hide_cells(value, (cell,))
        if not isinstance(value.get("conditions"), list):
            return value
        kept = [each for each in value["conditions"] if each["type"] != condition]
        rest = {name: each for name, each in value.items() if name != "conditions"}
        return {**rest, "conditions": kept} if kept else rest

    return {**answer, "body": _each(answer["body"], change)}


def _without_empty(answer: Body, request: Request) -> Body:
    def change(value: Body) -> Body:
        message = value.get("message")
        if not isinstance(message, str):
            return value
        return {**value, "message": _EMPTY.sub("null", message)}

    return {**answer, "body": _each(answer["body"], change)}


def _without_protobuf(answer: Body, request: Request) -> Body:
    body = answer["body"]
    if answer["status"] != 415 or not isinstance(body, dict):
        return answer
    return {**answer, "body": {**body, "message": body["message"].removesuffix(_PROTOBUF)}}


def _without_approval(answer: Body, request: Request) -> Body:
    """Definitions without the condition of their approval, and without its owner."""

    def change(value: Body) -> Body:
        kept = {name: each for name, each in value.items() if _APPROVED not in name}
        conditions = kept.get("conditions")
        if isinstance(conditions, list):
            known = [each for each in conditions if each.get("type") != _APPROVED]
            kept["conditions"] = known
        return kept

    if request.kind not in ("definition", "CustomResourceDefinition"):
        return answer
    return {**answer, "body": _each(answer["body"], change)}


RULES: Final = (
    # first, so that an object whose status the server owns is no note of its own
    Rule("controllers of the API server own the conditions", _without_owners),
    Rule("a CustomResourceDefinition of a group of Kubernetes", _without_approval),
    Rule("what cannot be read is answered with protobuf", _without_protobuf),
    Rule("warnings about an object are also sent when", _without_warnings),
    Rule("the server keeps notes of its own", _without_notes_of_server),
    Rule("with `GenericWorkload`, there are roles", _without_gated),
    Rule("without controllers, the status of a ResourceQuota", _without_counts),
    Rule("the server says in conditions", _without_conditions),
    Rule("messages print an empty list or map", _without_empty),
)


def _each(value: Any, change: Callable[[Body], Body]) -> Any:
    if isinstance(value, list):
        return [_each(item, change) for item in value]
    if not isinstance(value, dict):
        return value
    return change({name: _each(item, change) for name, item in value.items()})


def _hide_cells(value: Body, names: Collection[str]) -> Body:
    """A table without the cells of these columns; any other object as it is."""
    if value.get("kind") != "Table":
        return value
    columns = [each["name"] for each in value["columnDefinitions"] or ()]
    hidden = [index for index, name in enumerate(columns) if name in names]
    return {**value, "rows": [_hide(row, hidden) for row in value["rows"] or ()]}


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
    """Causes and custom resources in an order of their own; no random addresses."""
    if value.get("kind") == "APIResourceList" and isinstance(value.get("resources"), list):
        return {**value, "resources": sorted(value["resources"], key=lambda each: each["name"])}
    if value.get("kind") == "Table":
        columns = [each["name"] for each in value["columnDefinitions"] or ()]
        hidden = [index for index, name in enumerate(columns) if name == "Cluster-IP"]
        return {**value, "rows": [_hide_address(row, hidden) for row in value["rows"] or ()]}
    if value.get("kind") != "Status" or not isinstance(value.get("message"), str):
        return value
    causes = (value.get("details") or {}).get("causes")
    if value.get("reason") not in ("Invalid", "Conflict") or not causes:
        return value
    message = value["message"]
    texts = [f"{cause.get('field')}: {cause['message']}" for cause in causes]
    for text in texts:
        message = message.replace(text, "<cause>", 1)
    ordered = sorted(causes, key=lambda cause: sorted(cause.items()))
    details = {**value["details"], "causes": ordered}
    return {**value, "message": [message, sorted(texts)], "details": details}
