"""Services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    duplicate,
    invalid,
    not_supported,
    required,
)
from apps.cluster.validation.containers import PROTOCOLS
from apps.cluster.validation.metadata import validate_labels

Body = Mapping[str, Any]

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES: Final = ("ClientIP", "None")
_NOT_AN_ADDRESS: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_HEADLESS: Final = "None"


def validate_service(service: Body) -> Causes:
    """A Service."""
    spec = service.get("spec", {})
    kind, ports = spec.get("type", ""), spec.get("ports") or ()
    headless = spec.get("clusterIP") == _HEADLESS
    if not ports and not headless and kind != "ExternalName":
        yield required("spec.ports")
    yield from _ports(ports)
    yield from validate_labels(spec.get("selector", {}), "spec.selector")
    affinity = spec.get("sessionAffinity", "")
    if not affinity:
        yield required("spec.sessionAffinity")
    elif affinity not in _AFFINITIES:
        yield not_supported("spec.sessionAffinity", affinity, _AFFINITIES)
    if kind not in _TYPES:
        yield not_supported("spec.type", kind, _TYPES)
    if kind == "ExternalName" and not spec.get("externalName"):
        yield required("spec.externalName")
    for index, address in enumerate(spec.get("clusterIPs", ())):
        if address != _HEADLESS and not _is_address(address):
            yield invalid(f"spec.clusterIPs[{index}]", address, _NOT_AN_ADDRESS)


def _ports(ports: Sequence[Body]) -> Causes:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"spec.ports[{index}]", port.get("name", "")
        if not name and len(ports) > 1:
            yield required(f"{path}.name")
        elif name:
            yield from all_invalid(f"{path}.name", name, names.dns_label(name))
            if name in seen:
                yield duplicate(f"{path}.name", name)
            seen.add(name)
        yield from _port(port, path)


def _port(port: Body, path: str) -> Causes:
    number, target = port.get("port", 0), port.get("targetPort", 0)
    yield from all_invalid(f"{path}.port", number, names.port_number(number))
    protocol = port.get("protocol", "")
    if not protocol:
        yield required(f"{path}.protocol")
    elif protocol not in PROTOCOLS:
        yield not_supported(f"{path}.protocol", protocol, PROTOCOLS)
    problems = names.port_number(target) if isinstance(target, int) else names.port_name(target)
    yield from all_invalid(f"{path}.targetPort", target, problems)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
