"""Defaults of services, with the addresses and ports that a mock cluster allocates."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any, Final

from apps.cluster.admission.draft import Body, child, drop_empty

_ADDRESSES: Final = IPv4Network("10.96.0.0/12")
_NODE_PORTS: Final = range(30000, 32768)
_AFFINITY_SECONDS: Final = 10800
_EXPOSED: Final = ("NodePort", "LoadBalancer")
_BALANCED: Final = ("allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort")


def default_service(service: Body) -> None:
    """A ClusterIP service with an address, and node ports if it is exposed."""
    spec = child(service, "spec")
    drop_empty(spec, "type", "sessionAffinity", "clusterIP", "clusterIPs", "selector", "ports")
    kind = spec.setdefault("type", "ClusterIP")
    _default_affinity(spec)
    for port in spec.get("ports", ()):
        drop_empty(port, "name", "nodePort", "protocol", "targetPort")
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port", 0))
    if kind == "ExternalName":
        return
    spec.setdefault("internalTrafficPolicy", "Cluster")
    _default_address(spec)
    if kind in _EXPOSED:
        spec.setdefault("externalTrafficPolicy", "Cluster")
        _allocate_node_ports(spec)
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def drop_fields_of_type(service: Body, old: Mapping[str, Any]) -> None:
    """Drop the fields of the former type that an update to another one has left as they were."""
    spec, before = child(service, "spec"), old.get("spec") or {}
    kind, former = spec.get("type", "ClusterIP"), before.get("type", "ClusterIP")
    _follow_address(spec, before)
    if kind == former:
        return
    if kind == "ExternalName":
        if all(spec.get(name) == before.get(name) for name in ("clusterIP", "clusterIPs")):
            _drop_unchanged(spec, before, "clusterIP", "clusterIPs")
        _drop_unchanged(spec, before, "ipFamilies", "ipFamilyPolicy")
    if former in _EXPOSED and kind not in _EXPOSED:
        _drop_unchanged(spec, before, "externalTrafficPolicy")
        if _node_ports(spec) <= _node_ports(before):
            for port in spec.get("ports") or ():
                port.pop("nodePort", None)
    if former == "LoadBalancer":
        _drop_unchanged(
            spec,
            before,
            "allocateLoadBalancerNodePorts",
            "loadBalancerClass",
            "healthCheckNodePort",
        )


def keep_allocated(service: Body, old: Mapping[str, Any]) -> None:
    """Keep the allocated addresses and node ports that an update omits."""
    spec, before = child(service, "spec"), old.get("spec") or {}
    if spec.get("type") == "ExternalName":
        return
    if not spec.get("clusterIP") and not spec.get("clusterIPs"):
        for name in ("clusterIP", "clusterIPs"):
            if name in before:
                spec[name] = before[name]
    node_ports = {
        (port.get("protocol", "TCP"), port.get("port")): port.get("nodePort")
        for port in before.get("ports") or ()
    }
    for port in spec.get("ports", ()):
        kept = node_ports.get((port.get("protocol", "TCP"), port.get("port")))
        if kept and not port.get("nodePort") and spec.get("type") in _EXPOSED:
            port["nodePort"] = kept


def _follow_address(spec: Body, before: Mapping[str, Any]) -> None:
    """The list of addresses follows the single one, if an update changes only that."""
    address, addresses = spec.get("clusterIP"), spec.get("clusterIPs")
    if addresses and addresses == before.get("clusterIPs") and address != before.get("clusterIP"):
        if address:
            spec["clusterIPs"] = [address]
        else:
            del spec["clusterIPs"]


def _drop_unchanged(spec: Body, before: Mapping[str, Any], *names: str) -> None:
    for name in names:
        if name in spec and spec[name] == before.get(name):
            del spec[name]


def _node_ports(spec: Mapping[str, Any]) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


def _default_affinity(spec: Body) -> None:
    if spec.setdefault("sessionAffinity", "None") == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        client = child(child(spec, "sessionAffinityConfig"), "clientIP")
        client.setdefault("timeoutSeconds", _AFFINITY_SECONDS)


def _default_address(spec: Body) -> None:
    if "clusterIP" not in spec and "clusterIPs" not in spec:
        host = 1 + secrets.randbelow(_ADDRESSES.num_addresses - 2)
        spec["clusterIP"] = str(IPv4Address(int(_ADDRESSES.network_address) + host))
    if "clusterIPs" in spec:
        spec.setdefault("clusterIP", spec["clusterIPs"][0])
    spec.setdefault("clusterIPs", [spec["clusterIP"]])
    spec.setdefault("ipFamilies", ["IPv6" if ":" in spec["clusterIP"] else "IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")


def _allocate_node_ports(spec: Body) -> None:
    taken = {port["nodePort"] for port in spec.get("ports", ()) if port.get("nodePort")}
    for port in spec.get("ports", ()):
        while not port.get("nodePort"):
            offered = secrets.choice(_NODE_PORTS)
            if offered not in taken:
                port["nodePort"] = offered
                taken.add(offered)
