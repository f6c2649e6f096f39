"""Services."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from apps.cluster.schema.go_types import internal
from apps.cluster.validation import names
from apps.cluster.validation.addresses import (
    NOT_AN_ADDRESS,
    read_address,
    validate_address,
    validate_network,
    validate_reachable,
)
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from apps.cluster.validation.container_ports import PROTOCOLS
from apps.cluster.validation.metadata import validate_labels

Body = Mapping[str, Any]

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_EXPOSED: Final = ("LoadBalancer", "NodePort")
_AFFINITIES: Final = ("ClientIP", "None")
_LONGEST_AFFINITY: Final = 86_400
_TRAFFIC_POLICIES: Final = ("Cluster", "Local")
_DISTRIBUTIONS: Final = ("PreferClose", "PreferSameNode", "PreferSameZone")
_FAMILIES: Final = ("IPv4", "IPv6")
_FAMILY_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_MAX_ADDRESSES: Final = 2
_HEADLESS: Final = "None"
_KUBELET_PORT: Final = 10250
_NODE_PORTS: Final = range(30_000, 32_768)
_OUTSIDE: Final = (
    "provided port is not in the valid range. The range of valid ports is "
    f"{_NODE_PORTS.start}-{_NODE_PORTS.stop - 1}"
)
_NOT_EXTERNAL_NAME: Final = "may not be set for ExternalName services"
_ONLY_BALANCED: Final = "may only be used when `type` is 'LoadBalancer'"
_UNCHANGED: Final = "may not change once set"
#: Fields that only services with a load balancer have.
_BALANCED: Final = ("allocateLoadBalancerNodePorts", "loadBalancerClass")


def validate_service(service: Body) -> Causes:
    """A Service."""
    spec = service.get("spec", {})
    # addresses are allocated for a new service before the rest of it is looked at
    is_new = "resourceVersion" not in service["metadata"]
    if is_new and (causes := list(_cluster_addresses(spec))):
        yield from causes
        return
    valid = True
    for rule in _RULES:
        for cause in rule(spec):
            valid = False
            yield cause
    if valid:
        # ports are allocated when everything else is valid
        for index, port in enumerate(spec.get("ports") or ()):
            number = port.get("nodePort", 0)
            if number and number not in _NODE_PORTS:
                yield invalid(f"spec.ports[{index}].nodePort", number, _OUTSIDE)


def validate_service_update(service: Body, old: Body) -> Causes:
    """Addresses and the class of the load balancer are immutable."""
    spec, before = service.get("spec", {}), old.get("spec") or {}
    if "ExternalName" not in (spec.get("type"), before.get("type")):
        given, kept = spec.get("clusterIPs") or (), before.get("clusterIPs") or ()
        for index, (address, previous) in enumerate(zip(given, kept, strict=False)):
            if address != previous:
                yield invalid(f"spec.clusterIPs[{index}]", given, _UNCHANGED)
    stays_balanced = "LoadBalancer" == spec.get("type") == before.get("type")
    if stays_balanced and spec.get("loadBalancerClass") != before.get("loadBalancerClass"):
        yield invalid("spec.loadBalancerClass", spec.get("loadBalancerClass"), _UNCHANGED)


def _kind(spec: Body) -> Causes:
    kind, ports = spec.get("type", ""), spec.get("ports") or ()
    headless = spec.get("clusterIP") == _HEADLESS
    if not ports and not headless and kind != "ExternalName":
        yield required("spec.ports")
    if kind == "LoadBalancer":
        for index, port in enumerate(ports):
            if port.get("port") == _KUBELET_PORT:
                detail = f"may not expose port {_KUBELET_PORT} externally since it is used by "
                yield invalid(f"spec.ports[{index}]", _KUBELET_PORT, f"{detail}kubelet")
    if kind in _EXPOSED and headless:
        detail = f"may not be set to 'None' for {kind} services"
        yield invalid("spec.clusterIPs[0]", _HEADLESS, detail)
    if kind == "ExternalName":
        yield from _external_name(spec)


def _external_name(spec: Body) -> Causes:
    for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        # the API server fills clusterIPs from clusterIP before it validates
        if spec.get(field) or (field == "clusterIPs" and spec.get("clusterIP")):
            yield forbidden(f"spec.{field}", _NOT_EXTERNAL_NAME)
    name = spec.get("externalName", "").removesuffix(".")
    if not name:
        yield required("spec.externalName")
    else:
        yield from all_invalid("spec.externalName", name, names.dns_subdomain(name))


def _ports(spec: Body) -> Causes:
    ports: Sequence[Body] = spec.get("ports") or ()
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
    application = port.get("appProtocol")
    if application is not None:
        yield from all_invalid(
            f"{path}.appProtocol", application, names.qualified_name(application)
        )


def _affinity(spec: Body) -> Causes:
    yield from validate_labels(spec.get("selector", {}), "spec.selector")
    affinity, config = spec.get("sessionAffinity", ""), spec.get("sessionAffinityConfig")
    if not affinity:
        yield required("spec.sessionAffinity")
    elif affinity not in _AFFINITIES:
        yield not_supported("spec.sessionAffinity", affinity, _AFFINITIES)
    elif affinity == "None" and config is not None:
        detail = "must not be set when session affinity is None"
        yield forbidden("spec.sessionAffinityConfig", detail)
    elif affinity == "ClientIP":
        seconds = ((config or {}).get("clientIP") or {}).get("timeoutSeconds", 0)
        if not 0 < seconds <= _LONGEST_AFFINITY:
            detail = f"must be greater than 0 and less than {_LONGEST_AFFINITY}"
            yield invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, detail)


def _cluster_addresses(spec: Body) -> Causes:
    """The addresses within the cluster, and their families."""
    if spec.get("type") == "ExternalName":
        return
    given, first = spec.get("clusterIPs") or (), spec.get("clusterIP", "")
    if given and first and given[0] != first:
        yield invalid("spec.clusterIPs", given, "first value must match `clusterIP`")
    families: Sequence[str] = spec.get("ipFamilies") or ()
    for index, family in enumerate(families):
        if family not in _FAMILIES:
            yield not_supported(f"spec.ipFamilies[{index}]", family, _FAMILIES)
        elif family in families[:index]:
            yield duplicate(f"spec.ipFamilies[{index}]", family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _FAMILY_POLICIES:
        yield not_supported("spec.ipFamilyPolicy", policy, _FAMILY_POLICIES)
    for index, address in enumerate(given):
        if address != _HEADLESS and read_address(address) is None:
            yield invalid(f"spec.clusterIPs[{index}]", address, NOT_AN_ADDRESS)
    if len(given) > _MAX_ADDRESSES:
        detail = f"may only hold up to {_MAX_ADDRESSES} values"
        yield invalid("spec.clusterIPs", given, detail)


def _addresses(spec: Body) -> Causes:
    yield from _cluster_addresses(spec)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        path = f"spec.externalIPs[{index}]"
        yield from validate_address(address, path)
        yield from validate_reachable(address, path)


def _type_and_node_ports(spec: Body) -> Causes:
    kind, ports = spec.get("type", ""), spec.get("ports") or ()
    if not kind:
        yield required("spec.type")
    elif kind not in _TYPES:
        yield not_supported("spec.type", kind, _TYPES)
    if kind == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                detail = "may not be used when `type` is 'ClusterIP'"
                yield forbidden(f"spec.ports[{index}].nodePort", detail)
    taken: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("nodePort", 0))
        if key[1] and key in taken:
            yield duplicate(f"spec.ports[{index}].nodePort", key[1])
        taken.add(key)
    yield from _distinct_ports(ports)


def _distinct_ports(ports: Sequence[Body]) -> Causes:
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        protocol, number = port.get("protocol", ""), port.get("port", 0)
        if (protocol, number) in seen:
            shown = internal("core.ServicePort", {"protocol": protocol, "port": number})
            yield duplicate(f"spec.ports[{index}]", shown)
        seen.add((protocol, number))


def _balancing(spec: Body) -> Causes:
    balanced = spec.get("type") == "LoadBalancer"
    ranges = spec.get("loadBalancerSourceRanges") or ()
    if ranges:
        # the API server's messages have this name
        path = "spec.LoadBalancerSourceRanges"
        if not balanced:
            yield forbidden(path, _ONLY_BALANCED)
        for index, network in enumerate(ranges):
            yield from validate_network(network.strip(), f"{path}[{index}]")
    for field in _BALANCED:
        if spec.get(field) is not None and not balanced:
            yield forbidden(f"spec.{field}", _ONLY_BALANCED)
    name = spec.get("loadBalancerClass")
    if name is not None and balanced:
        yield from all_invalid("spec.loadBalancerClass", name, names.qualified_name(name))


def _traffic(spec: Body) -> Causes:
    exposed = spec.get("type") in _EXPOSED or (
        spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs"))
    )
    policy, check = spec.get("externalTrafficPolicy", ""), spec.get("healthCheckNodePort", 0)
    if policy and not exposed:
        detail = "may only be set for externally-accessible services"
        yield invalid("spec.externalTrafficPolicy", policy, detail)
    elif exposed and not policy and spec.get("type") in _EXPOSED:
        yield required("spec.externalTrafficPolicy")
    elif policy and policy not in _TRAFFIC_POLICIES:
        yield not_supported("spec.externalTrafficPolicy", policy, _TRAFFIC_POLICIES)
    if check and not (spec.get("type") == "LoadBalancer" and policy == "Local"):
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is "
        yield invalid("spec.healthCheckNodePort", check, f"{detail}'Local'")
    inside = spec.get("internalTrafficPolicy")
    if inside is not None and inside not in _TRAFFIC_POLICIES:
        yield not_supported("spec.internalTrafficPolicy", inside, _TRAFFIC_POLICIES)
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        yield not_supported("spec.trafficDistribution", distribution, _DISTRIBUTIONS)


#: In the order in which the API server reports errors.
_RULES: Final[tuple[Callable[[Body], Causes], ...]] = (
    _kind,
    _ports,
    _affinity,
    _addresses,
    _type_and_node_ports,
    _balancing,
    _traffic,
)
