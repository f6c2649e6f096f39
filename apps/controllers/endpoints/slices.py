"""Keeps the EndpointSlices of each Service with a selector up to date."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.queries import Selection, list_objects
from apps.cluster.writes import Create, Delete, Update
from apps.controllers.cache import ControllerCache, Ref, owner_reference
from apps.controllers.controller import Concerns, Controller, Step
from apps.controllers.endpoints.backends import (
    HEADLESS_LABEL,
    KIND,
    Backend,
    Port,
    find_backends,
    is_headless,
    manages,
    refs_for_pod,
    refs_for_service,
)
from apps.controllers.writes import update_object
from apps.scheduler.objects import KubeObject, Service

Body = dict[str, Any]

SERVICE_LABEL: Final = "kubernetes.io/service-name"
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
CONTROLLER_NAME: Final = "endpointslice-controller.k8s.io"
#: Endpoints in one slice, as by default upstream.
LARGEST: Final = 100

_SLICES: Final = kinds.by_name("EndpointSlice")
_RESERVED: Final = (SERVICE_LABEL, MANAGED_BY, HEADLESS_LABEL)
_ZONE: Final = "topology.kubernetes.io/zone"
#: Traffic distributions of Services.
_SAME_NODE: Final = "PreferSameNode"
_SAME_ZONE: Final = ("PreferSameZone", "PreferClose")

#: What the slices of a Service differ in: the family of their addresses, and their ports.
_Group = tuple[str, tuple[Port, ...]]


def refs_for_other(kind: str) -> Concerns:
    """A slice that was deleted concerns its Service."""
    return _refs_for_slice if kind == _SLICES.name else _no_refs


def _refs_for_slice(
    _: ControllerCache, old: KubeObject | None, new: KubeObject | None
) -> Iterable[Ref]:
    if new is not None or old is None or not (name := old.metadata.labels.get(SERVICE_LABEL)):
        return ()
    return [(KIND, old.metadata.namespace, name)]


def _no_refs(_: ControllerCache, old: Any, new: Any) -> Iterable[Ref]:
    return ()


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    service, body = cache.get(ref, Service), cache.body(ref)
    if service is None or body is None or not manages(body):
        # the slices of a deleted Service are garbage; without a selector they are the user's
        return
    labels = _labels(body)
    present = _own_slices(cache, ref)
    wanted = _group(cache, body, find_backends(cache, service, body))
    for group, endpoints in wanted.items():
        fitting = [each for each in present if _group_of(each) == group]
        kept, added = _distribute(fitting, endpoints)
        for old, contents in kept:
            present.remove(old)
            if (old.get("endpoints") or []) != contents or old["metadata"]["labels"] != labels:
                yield _update(ref[1], old, contents, labels)
        for contents in added:
            yield Create(_SLICES, _new_slice(body, group, contents, labels), ref[1])
    for old in present:
        options = {"preconditions": {"uid": old["metadata"]["uid"]}}
        yield Delete(_SLICES, ref[1], old["metadata"]["name"], options)


def _own_slices(cache: ControllerCache, ref: Ref) -> list[Body]:
    """The slices that this controller has created for a Service."""
    labels = f"{SERVICE_LABEL}={ref[2]},{MANAGED_BY}={CONTROLLER_NAME}"
    selection = Selection(namespace=ref[1], labels=labels)
    return list_objects(cache.cluster, _SLICES, selection).items


def _group(
    cache: ControllerCache, service: Body, backends: Iterable[Backend]
) -> dict[_Group, list[Body]]:
    """The endpoints of a Service by address family and ports; one group without any if none."""
    families = service["spec"].get("ipFamilies") or ["IPv4"]
    groups: dict[_Group, list[Body]] = {}
    for backend in backends:
        for family in families:
            if family in backend.addresses:
                endpoint = _endpoint(cache, service, backend, family)
                groups.setdefault((family, backend.ports), []).append(endpoint)
    for family in families:
        if not any(group[0] == family for group in groups):
            groups[family, ()] = []
    return groups


def _group_of(present: Body) -> _Group:
    ports = present.get("ports") or ()
    return present["addressType"], tuple(
        Port(each.get("name", ""), each.get("port", 0), each["protocol"], each.get("appProtocol"))
        for each in ports
    )


def _distribute(
    present: list[Body], endpoints: list[Body]
) -> tuple[list[tuple[Body, list[Body]]], list[list[Body]]]:
    """The contents of the slices that stay, and of those to create.

    Endpoints stay in their slice. New ones fill the fullest slices first; a slice without any
    endpoint is given up, unless it is the only one.
    """
    left = {each["targetRef"]["uid"]: each for each in endpoints}
    kept = []
    for old in present:
        uids = [each["targetRef"]["uid"] for each in old.get("endpoints") or ()]
        kept.append((old, [left.pop(uid) for uid in uids if uid in left]))
    new = list(left.values())
    for _, contents in sorted(kept, key=lambda each: -len(each[1])):
        room = LARGEST - len(contents)
        contents += new[:room]
        new = new[room:]
    added = [new[start : start + LARGEST] for start in range(0, len(new), LARGEST)]
    if not kept and not added:
        return [], [[]]
    filled = [each for each in kept if each[1]]
    return filled or kept[: 0 if added else 1], added


def _endpoint(cache: ControllerCache, service: Body, backend: Backend, family: str) -> Body:
    published = bool(service["spec"].get("publishNotReadyAddresses"))
    node = cache.node(backend.pod.spec.node_name)
    zone = "" if node is None else node.metadata.labels.get(_ZONE, "")
    endpoint: Body = {
        "addresses": backend.addresses[family],
        "conditions": {
            "ready": published or (backend.serves and not backend.terminates),
            "serving": backend.serves,
            "terminating": backend.terminates,
        },
        "hostname": backend.hostname,
        "targetRef": backend.reference,
        "nodeName": backend.pod.spec.node_name,
        "zone": zone,
    }
    hints = _hints(service, endpoint) if endpoint["conditions"]["ready"] else {}
    return {name: value for name, value in endpoint.items() if value != ""} | hints


def _hints(service: Body, endpoint: Body) -> Body:
    """From where the Service's traffic distribution prefers the endpoint."""
    preferred = service["spec"].get("trafficDistribution")
    hints = {}
    if preferred == _SAME_NODE and endpoint["nodeName"]:
        hints["forNodes"] = [{"name": endpoint["nodeName"]}]
    if preferred in (_SAME_NODE, *_SAME_ZONE) and endpoint["zone"]:
        hints["forZones"] = [{"name": endpoint["zone"]}]
    return {"hints": hints} if hints else {}


def _labels(service: Body) -> dict[str, str]:
    """The labels of the Service, and those of its slices."""
    metadata = service["metadata"]
    own = metadata.get("labels") or {}
    labels = {name: value for name, value in own.items() if name not in _RESERVED}
    if is_headless(service):
        labels[HEADLESS_LABEL] = ""
    return labels | {SERVICE_LABEL: metadata["name"], MANAGED_BY: CONTROLLER_NAME}


def _new_slice(service: Body, group: _Group, endpoints: list[Body], labels: Body) -> Body:
    family, ports = group
    prefix = f"{service['metadata']['name']}-"
    return {
        "metadata": {
            "generateName": prefix,
            "labels": labels,
            "ownerReferences": [owner_reference(service)],
        },
        "addressType": family,
        "endpoints": endpoints,
        "ports": [each.body() for each in ports],
    }


def _update(namespace: str, old: Body, endpoints: list[Body], labels: Body) -> Update:
    def change(body: Body) -> Body:
        return {
            **body,
            "metadata": {**body["metadata"], "labels": labels},
            "endpoints": endpoints,
        }

    metadata = old["metadata"]
    return update_object((_SLICES.name, namespace, metadata["name"]), metadata["uid"], change)


CONTROLLER = Controller(
    name="endpoint slices",
    user="endpointslice-controller",
    concerns={KIND: refs_for_service, "Pod": refs_for_pod},
    reconcile=reconcile,
    others=refs_for_other,
)
