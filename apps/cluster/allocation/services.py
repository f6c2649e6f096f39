"""Allocates addresses and node ports of services during one write.

The transaction has locked the cluster's counter before the first allocation, and keeps it until
its commit is on disk: no other write can take the same value in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network
from secrets import randbelow
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.admission.defaulting.services import is_health_checked
from apps.cluster.allocation.families import check_families
from apps.cluster.allocation.held import HeldAddresses, ports_of, read_added_networks, read_held
from apps.cluster.allocation.ranges import NETWORK, Draw, contains, draw_address, draw_port
from apps.cluster.errors import ApiError, Invalid
from apps.cluster.models import Cluster
from apps.cluster.validation.addresses import read_address
from apps.cluster.validation.causes import invalid
from apps.cluster.writes import Create, Update, Write

Body = dict[str, Any]
Spec = Mapping[str, Any]

SERVICE: Final = kinds.by_name("Service")


def may_allocate(write: Write) -> bool:
    """Whether this write may need addresses or node ports."""
    if write.kind is not SERVICE:
        return False
    return isinstance(write, Create) or (isinstance(write, Update) and not write.subresource)


class Allocations:
    """The addresses and node ports that the services of a cluster hold.

    With `checks_range`, addresses have to be in a network of the cluster. The others are accepted,
    so that services of other clusters can be imported.
    """

    def __init__(self, cluster: Cluster, *, checks_range: bool, draw: Draw = randbelow) -> None:
        self._cluster = cluster
        self._draw = draw
        self._checks_range = checks_range
        self._requested = HeldAddresses()
        #: The specs before and after each change of this write.
        self._recorded: list[tuple[Spec, Spec]] = []

    @cached_property
    def _held(self) -> HeldAddresses:
        """Read once, when the first service needs it."""
        held = self._read_held()
        for old, new in self._recorded:
            held.remove(old)
            held.add(new)
        return held

    def _read_held(self) -> HeldAddresses:
        return read_held(self._cluster)

    def _read_added_networks(self) -> list[IPv4Network]:
        return read_added_networks(self._cluster)

    def expect(self, service: Mapping[str, Any]) -> None:
        """Draw nothing that this service, of the same write, asks for."""
        self._requested.add(service.get("spec") or {})

    def allocate(self, service: Body, old: Mapping[str, Any] | None = None) -> Body:
        """The service with every address and node port that it needs.

        `old` is the stored service; what it holds is kept. Raises Invalid for a value that another
        service holds, or that is in no range.
        """
        spec, before = dict(service["spec"]), (old or {}).get("spec") or {}
        if self._checks_range:
            causes = list(check_families(spec, before))
            if causes:
                raise Invalid(SERVICE.name, service["metadata"]["name"], causes)
        if spec.get("type") != "ExternalName":
            self._allocate_address(service, spec, before)
        self._check_ports(service, spec, before)
        self._allocate_ports(spec, before)
        return {**service, "spec": spec}

    def record(self, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> None:
        """A service was created (`old` None), updated, or deleted (`new` None)."""
        change = ((old or {}).get("spec") or {}, (new or {}).get("spec") or {})
        self._recorded.append(change)
        if "_held" in vars(self):
            self._held.remove(change[0])
            self._held.add(change[1])

    def _allocate_address(self, service: Body, spec: Body, before: Spec) -> None:
        if not spec.get("clusterIPs"):
            address = draw_address(self._is_address_taken, self._draw)
            if address is None:
                raise _full("a serviceIP")
            spec["clusterIP"], spec["clusterIPs"] = address, [address]
            return
        own = before.get("clusterIPs") or ()
        for address in spec["clusterIPs"]:
            why = "" if address == "None" or address in own else self._why_not(address)
            if why:
                detail = f"failed to allocate IP {address}: {why}"
                raise _refuse(service, "spec.clusterIPs", spec["clusterIPs"], detail)

    def _why_not(self, text: str) -> str:
        """Why the service cannot have this address; "" if it can."""
        address = read_address(text)
        if self._checks_range and not (
            isinstance(address, IPv4Address)
            and (contains([NETWORK], address) or contains(self._read_added_networks(), address))
        ):
            return "the provided network does not match the current range"
        is_held = self._held.addresses[str(address)] > 0
        return "provided IP is already allocated" if is_held else ""

    def _check_ports(self, service: Body, spec: Body, before: Spec) -> None:
        for field, number, of_other in requested_ports(spec, before):
            if of_other or self._held.ports[number] > 0:
                raise _refuse(service, field, number, "provided port is already allocated")

    def _allocate_ports(self, spec: Body, before: Spec) -> None:
        drawn = set(ports_of(spec))
        if gets_node_ports(spec):
            shared = {} if before else shared_ports(spec)
            spec["ports"] = [dict(port) for port in spec.get("ports") or ()]
            for port in spec["ports"]:
                if not port.get("nodePort"):
                    port["nodePort"] = shared.get(port["port"]) or self._next_port(drawn)
                    if not before:
                        shared[port["port"]] = port["nodePort"]
        if is_health_checked(spec) and not spec.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = self._next_port(drawn)

    def _next_port(self, drawn: set[int]) -> int:
        """A free node port, which is added to those `drawn` for the service."""
        number = draw_port(lambda port: port in drawn or self._is_port_taken(port), self._draw)
        if number is None:
            raise _full("a nodePort")
        drawn.add(number)
        return number

    def _is_address_taken(self, address: str) -> bool:
        return self._held.addresses[address] > 0 or self._requested.addresses[address] > 0

    def _is_port_taken(self, port: int) -> bool:
        return self._held.ports[port] > 0 or self._requested.ports[port] > 0


def _refuse(service: Body, field: str, value: Any, detail: str) -> Invalid:
    return Invalid(SERVICE.name, service["metadata"]["name"], [invalid(field, value, detail)])


def _full(what: str) -> ApiError:
    return ApiError(f"Internal error occurred: failed to allocate {what}: range is full")


def requested_ports(spec: Spec, before: Spec) -> Iterator[tuple[str, int, bool]]:
    """The node ports that are new in a service: field, number, and whether it is a second one.

    In a new service, protocols of the same port share their node port; other ports may not.
    """
    own = {port["nodePort"] for port in before.get("ports") or () if port.get("nodePort")}
    seen: dict[int, int] = {}
    for index, port in enumerate(spec.get("ports") or ()):
        number = port.get("nodePort")
        if number and number not in own:
            of_other = not before and seen.get(number, port["port"]) != port["port"]
            yield f"spec.ports[{index}].nodePort", number, of_other
            seen[number] = port["port"]
    check = spec.get("healthCheckNodePort")
    if check and check != before.get("healthCheckNodePort"):
        yield "spec.healthCheckNodePort", check, check in own or check in seen


def gets_node_ports(spec: Spec) -> bool:
    """Whether ports without a node port are given one."""
    kind = spec.get("type")
    balanced = kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts", True)
    return kind == "NodePort" or balanced


def shared_ports(spec: Spec) -> dict[int, int]:
    """The first node port that the service asks for, for each port."""
    ports = reversed(spec.get("ports") or ())
    return {port["port"]: port["nodePort"] for port in ports if port.get("nodePort")}
