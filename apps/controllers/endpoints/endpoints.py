"""Keeps the Endpoints of each Service with a selector up to date, as older clients read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.writes import Create, Delete
from apps.controllers.cache import ControllerCache, Ref
from apps.controllers.controller import Controller, Step
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
from apps.scheduler.objects import Service

Body = dict[str, Any]

MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
CONTROLLER_NAME: Final = "endpoint-controller"
OVER_CAPACITY: Final = "endpoints.kubernetes.io/over-capacity"
#: Addresses in one object; ready ones are kept first.
LARGEST: Final = 1000

_ENDPOINTS: Final = kinds.by_name("Endpoints")
#: An address of a subset, as (address, whether it is ready, the pod's uid).
_Place = tuple[str, bool, str]


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    _, namespace, name = ref
    service, body = cache.get(ref, Service), cache.body(ref)
    if service is not None and (body is None or not manages(body)):
        return
    old = cache.find_stored(_ENDPOINTS, namespace, name)
    if service is None or body is None:
        if old is not None:
            options = {"preconditions": {"uid": old["metadata"]["uid"]}}
            yield Delete(_ENDPOINTS, namespace, name, options)
        return
    backends = find_backends(cache, service, body)
    subsets, truncated = _subsets(body, backends)
    labels = {**(body["metadata"].get("labels") or {}), MANAGED_BY: CONTROLLER_NAME}
    labels.pop(HEADLESS_LABEL, None)
    if is_headless(body):
        labels[HEADLESS_LABEL] = ""
    annotations = {OVER_CAPACITY: "truncated"} if truncated else {}
    wanted: Body = {"metadata": {"name": name, "labels": labels, "annotations": annotations}}
    if subsets:
        wanted["subsets"] = subsets
    if old is None:
        yield Create(_ENDPOINTS, wanted, namespace)
    elif _content(old) != _content(wanted):
        yield update_object(
            (_ENDPOINTS.name, namespace, name),
            old["metadata"]["uid"],
            lambda present: _replace(present, wanted),
        )


def _content(body: Body) -> tuple[Any, ...]:
    metadata = body["metadata"]
    annotations = metadata.get("annotations") or {}
    return body.get("subsets") or [], metadata.get("labels") or {}, annotations.get(OVER_CAPACITY)


def _replace(present: Body, wanted: Body) -> Body:
    """The object with other labels and subsets; annotations of others stay."""
    metadata, wanted_metadata = present["metadata"], wanted["metadata"]
    annotations = dict(metadata.get("annotations") or {})
    annotations.pop(OVER_CAPACITY, None)
    annotations |= wanted_metadata["annotations"]
    metadata = {**metadata, "labels": wanted_metadata["labels"], "annotations": annotations}
    if not annotations:
        del metadata["annotations"]
    kept = {field: value for field, value in present.items() if field != "subsets"}
    return {**kept, "metadata": metadata} | (
        {"subsets": wanted["subsets"]} if "subsets" in wanted else {}
    )


def _subsets(service: Body, backends: Iterable[Backend]) -> tuple[list[Body], bool]:
    """The subsets of a Service's Endpoints, and whether addresses were left out.

    Ports that the same addresses serve share a subset.
    """
    published = bool(service["spec"].get("publishNotReadyAddresses"))
    family = (service["spec"].get("ipFamilies") or ["IPv4"])[0]
    addresses: dict[_Place, Body] = {}
    serving: dict[Port | None, set[_Place]] = {}
    chosen = [each for each in backends if family in each.addresses]
    chosen = [each for each in chosen if published or not each.terminates]
    chosen.sort(key=lambda each: not (published or each.serves))
    for backend in chosen[:LARGEST]:
        address = backend.addresses[family][0]
        place = (address, published or backend.serves, backend.pod.metadata.uid)
        addresses[place] = _address(backend, address)
        # a headless Service needs no port
        without = [] if service["spec"].get("ports") else [None]
        for port in (*backend.ports, *without):
            serving.setdefault(port, set()).add(place)
    shared: dict[tuple[_Place, ...], list[Port]] = {}
    for port, places in serving.items():
        ports = shared.setdefault(tuple(sorted(places)), [])
        ports += [port] if port is not None else []
    subsets = [_subset(places, addresses, ports) for places, ports in sorted(shared.items())]
    return subsets, len(chosen) > LARGEST


def _address(backend: Backend, address: str) -> Body:
    node = backend.pod.spec.node_name
    return {
        "ip": address,
        **({"hostname": backend.hostname} if backend.hostname else {}),
        **({"nodeName": node} if node else {}),
        "targetRef": backend.reference,
    }


def _subset(places: tuple[_Place, ...], addresses: dict[_Place, Body], ports: list[Port]) -> Body:
    ready = [addresses[place] for place in places if place[1]]
    others = [addresses[place] for place in places if not place[1]]
    return {
        **({"addresses": ready} if ready else {}),
        **({"notReadyAddresses": others} if others else {}),
        **({"ports": [_port(each) for each in ports]} if ports else {}),
    }


def _port(port: Port) -> Body:
    """The port in an Endpoints object, where an empty name is left out."""
    return {name: value for name, value in port.body().items() if value != ""}


CONTROLLER = Controller(
    name="endpoints",
    user="endpoint-controller",
    concerns={KIND: refs_for_service, "Pod": refs_for_pod},
    reconcile=reconcile,
)
