"""NetworkPolicies, Endpoints and EndpointSlices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.errors import Cause
from apps.cluster.validation import names
from apps.cluster.validation.addresses import (
    read_address,
    read_old_network,
    validate_address,
    validate_full_domain,
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
from apps.cluster.validation.selectors import validate_label_selector

Body = Mapping[str, Any]

_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_POLICY_TYPES: Final = ("Ingress", "Egress")
_ADDRESS_TYPES: Final = ("FQDN", "IPv4", "IPv6")
_MAX_ENDPOINTS: Final = 1000
_MAX_ADDRESSES: Final = 100
_MAX_PORTS: Final = 20_000


def validate_network_policy(policy: Body) -> Causes:
    """A NetworkPolicy."""
    spec = policy["spec"]
    yield from validate_label_selector(spec.get("podSelector"), "spec.podSelector")
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            path = f"spec.{direction}[{index}]"
            for number, port in enumerate(rule.get("ports") or ()):
                yield from _policy_port(port, f"{path}.ports[{number}]")
            for number, peer in enumerate(rule.get(peers) or ()):
                yield from _peer(peer, f"{path}.{peers}[{number}]")
    types = spec.get("policyTypes") or ()
    if len(types) > len(_POLICY_TYPES):
        yield invalid("spec.policyTypes", types, "may not specify more than two policyTypes")
        return
    for index, given in enumerate(types):
        if given not in _POLICY_TYPES:
            yield not_supported(f"spec.policyTypes[{index}]", given, _POLICY_TYPES)


def _policy_port(given: Body, path: str) -> Causes:
    protocol, port, end = given.get("protocol"), given.get("port"), given.get("endPort")
    if protocol is not None and protocol not in _PROTOCOLS:
        yield not_supported(f"{path}.protocol", protocol, _PROTOCOLS)
    if isinstance(port, int):
        yield from all_invalid(f"{path}.port", port, names.port_number(port))
        if end is not None:
            if end < port:
                yield invalid(f"{path}.endPort", end, "must be greater than or equal to `port`")
            yield from all_invalid(f"{path}.endPort", end, names.port_number(end))
        return
    if end is not None:
        state = "not specified" if port is None else "non-numeric"
        yield invalid(f"{path}.endPort", end, f"may not be specified when `port` is {state}")
    if port is not None:
        yield from all_invalid(f"{path}.port", port, names.port_name(port))


def _peer(peer: Body, path: str) -> Causes:
    given = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if name in peer]
    for name in given:
        if name != "ipBlock":
            yield from validate_label_selector(peer[name], f"{path}.{name}")
    if "ipBlock" in given:
        yield from _block(peer["ipBlock"], f"{path}.ipBlock")
    if not given:
        yield required(path, "must specify a peer")
    elif len(given) > 1 and "ipBlock" in given:
        yield forbidden(path, "may not specify both ipBlock and another peer")


def _block(block: Body, path: str) -> Causes:
    whole = block.get("cidr", "")
    if not whole:
        yield required(f"{path}.cidr")
        return
    yield from validate_network(whole, f"{path}.cidr")
    network = read_old_network(whole)
    if network is None:
        return
    for index, text in enumerate(block.get("except") or ()):
        at = f"{path}.except[{index}]"
        yield from validate_network(text, at)
        part = read_old_network(text)
        if part is None:
            continue
        is_inside = part.version == network.version and part.network_address in network
        if not is_inside or network.prefixlen >= part.prefixlen:
            yield invalid(at, text, "must be a strict subset of `cidr`")


def validate_endpoints(endpoints: Body) -> Causes:
    """An Endpoints object."""
    for index, subset in enumerate(endpoints.get("subsets") or ()):
        path = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield required(path, "must specify `addresses` or `notReadyAddresses`")
        for field in ("addresses", "notReadyAddresses"):
            for number, address in enumerate(subset.get(field) or ()):
                yield from _endpoint_address(address, f"{path}.{field}[{number}]")
        ports = subset.get("ports") or ()
        for number, port in enumerate(ports):
            yield from _endpoint_port(port, len(ports) > 1, f"{path}.ports[{number}]")


def _endpoint_address(address: Body, path: str) -> Causes:
    ip, hostname = address.get("ip", ""), address.get("hostname", "")
    yield from validate_address(ip, f"{path}.ip")
    if hostname:
        yield from all_invalid(f"{path}.hostname", hostname, names.dns_label(hostname))
    node = address.get("nodeName")
    if node is not None:
        yield from all_invalid(f"{path}.nodeName", node, names.dns_subdomain(node))
    if read_address(ip) is None:
        # the rule about what can be reached says it again
        yield invalid(f"{path}.ip", ip, "must be a valid IP address")
    yield from validate_reachable(ip, f"{path}.ip")


def _endpoint_port(port: Body, requires_name: bool, path: str) -> Causes:
    name, number, protocol = port.get("name", ""), port.get("port", 0), port.get("protocol", "")
    if not name and requires_name:
        yield required(f"{path}.name")
    elif name:
        yield from all_invalid(f"{path}.name", name, names.dns_label(name))
    yield from all_invalid(f"{path}.port", number, names.port_number(number))
    yield from _protocol(protocol or None, f"{path}.protocol")
    yield from _application(port, path)


def _protocol(protocol: str | None, path: str) -> Causes:
    if protocol is None:
        yield required(path)
    elif protocol not in _PROTOCOLS:
        yield not_supported(path, protocol, PROTOCOLS)


def _application(port: Body, path: str) -> Causes:
    given = port.get("appProtocol")
    if given is not None:
        yield from all_invalid(f"{path}.appProtocol", given, names.qualified_name(given))


def validate_endpoint_slice(endpoint_slice: Body) -> Causes:
    """An EndpointSlice."""
    kind = endpoint_slice.get("addressType", "")
    if not kind:
        yield required("addressType")
    elif kind not in _ADDRESS_TYPES:
        yield not_supported("addressType", kind, _ADDRESS_TYPES)
    endpoints, ports = endpoint_slice.get("endpoints") or (), endpoint_slice.get("ports") or ()
    if len(endpoints) > _MAX_ENDPOINTS:
        yield _too_many("endpoints", endpoints, _MAX_ENDPOINTS)
    else:
        for index, endpoint in enumerate(endpoints):
            yield from _endpoint(endpoint, kind, f"endpoints[{index}]")
    if len(ports) > _MAX_PORTS:
        yield _too_many("ports", ports, _MAX_PORTS)
    else:
        yield from _slice_ports(ports)


def _too_many(field: str, values: Sequence[Any], limit: int) -> Cause:
    detail = f"Too many: {len(values)}: must have at most {limit} items"
    return Cause("FieldValueTooMany", detail, field)


def _endpoint(endpoint: Body, kind: str, path: str) -> Causes:
    addresses = endpoint.get("addresses") or ()
    if not addresses:
        yield required(f"{path}.addresses", "must contain at least 1 address")
    elif len(addresses) > _MAX_ADDRESSES:
        yield _too_many(f"{path}.addresses", addresses, _MAX_ADDRESSES)
    for index, address in enumerate(addresses):
        at = f"{path}.addresses[{index}]"
        if kind == "FQDN":
            yield from validate_full_domain(address, at)
        elif kind in _ADDRESS_TYPES:
            yield from _address_of_family(address, kind, at)
    hostname = endpoint.get("hostname")
    if hostname is not None:
        yield from all_invalid(f"{path}.hostname", hostname, names.dns_label(hostname))


def _address_of_family(text: str, kind: str, path: str) -> Causes:
    address = read_address(text)
    if address is None:
        yield from validate_address(text, path)
        return
    if f"IPv{address.version}" != kind:
        yield invalid(path, text, f"must be an {kind} address")
    elif str(address) != text:
        yield invalid(path, text, f'must be in canonical form ("{address}")')
    yield from validate_reachable(text, path)


def _slice_ports(ports: Sequence[Body]) -> Causes:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"ports[{index}]", port.get("name", "")
        if name:
            yield from all_invalid(f"{path}.name", name, names.dns_label(name))
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        yield from _protocol(port.get("protocol"), f"{path}.protocol")
        yield from _application(port, path)
