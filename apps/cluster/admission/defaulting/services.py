"""Defaults of services; the store allocates their addresses and node ports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.admission.draft import Body, child, drop_empty

_AFFINITY_SECONDS: Final = 10800
_EXPOSED: Final = ("NodePort", "LoadBalancer")
_BALANCED: Final = ("allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort")


def default_service(service: Body) -> None:
    """A service is of type ClusterIP, with TCP ports and without session affinity."""
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
    if kind in _EXPOSED:
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def keep_fields(service: Body, old: Mapping[str, Any]) -> None:
    """Drop what an update leaves of an earlier type, and keep what was allocated."""
    drop_fields_of_type(service, old)
    keep_allocated(service, old)


def drop_fields_of_type(service: Body, old: Mapping[str, Any]) -> None:
    """Drop the fields of the former type that an update to another one has left as they were."""
    spec, before = child(service, "spec"), old.get("spec") or {}
    kind, former = spec.get("type", "ClusterIP"), before.get("type", "ClusterIP")
    _follow_address(spec, before)
    if is_health_checked(before) and not is_health_checked(spec):
        _drop_unchanged(spec, before, "healthCheckNodePort")
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
        _drop_unchanged(spec, before, "allocateLoadBalancerNodePorts", "loadBalancerClass")


def is_health_checked(spec: Mapping[str, Any]) -> bool:
    """Whether the load balancer of a service checks its nodes, at a node port of its own."""
    local = spec.get("externalTrafficPolicy") == "Local"
    return spec.get("type") == "LoadBalancer" and local


def keep_allocated(service: Body, old: Mapping[str, Any]) -> None:
    """Keep the allocated addresses and node ports that an update omits."""
    spec, before = child(service, "spec"), old.get("spec") or {}
    if spec.get("type") == "ExternalName":
        return
    if not spec.get("clusterIP") and not spec.get("clusterIPs"):
        for name in ("clusterIP", "clusterIPs"):
            if name in before:
                spec[name] = before[name]
    if before.get("ipFamilyPolicy"):
        spec.setdefault("ipFamilyPolicy", before["ipFamilyPolicy"])
    if before.get("healthCheckNodePort") and is_health_checked(spec):
        spec.setdefault("healthCheckNodePort", before["healthCheckNodePort"])
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


def default_address(service: Body) -> None:
    """The address families, which are the server's to set: no client owns them."""
    spec = service["spec"]
    if spec["type"] == "ExternalName":
        return
    if "clusterIPs" in spec:
        spec.setdefault("clusterIP", spec["clusterIPs"][0])
    elif "clusterIP" in spec:
        spec["clusterIPs"] = [spec["clusterIP"]]
    addresses = spec.get("clusterIPs") or ()
    # a service whose endpoints are written by hand may have endpoints of both families
    is_by_hand = spec.get("clusterIP") == "None" and not spec.get("selector")
    policy = spec.setdefault("ipFamilyPolicy", "RequireDualStack" if is_by_hand else "SingleStack")
    families = spec.setdefault(
        "ipFamilies", ["IPv6" if ":" in address else "IPv4" for address in addresses] or ["IPv4"]
    )
    if is_by_hand and len(families) == 1 and policy != "SingleStack":
        spec["ipFamilies"] = [*families, "IPv4" if families == ["IPv6"] else "IPv6"]
