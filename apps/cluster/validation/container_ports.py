"""Ports of containers, and those of the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

Body = Mapping[str, Any]

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")


def validate_ports(ports: Sequence[Body], path: str) -> Causes:
    """ports of a container."""
    seen: set[str] = set()
    for index, port in enumerate(ports):
        place = f"{path}[{index}]"
        name = port.get("name", "")
        if name:
            problems = names.port_name(name)
            yield from all_invalid(f"{place}.name", name, problems)
            if not problems and name in seen:
                yield duplicate(f"{place}.name", name)
            seen.add(name)
        yield from _port(port, place)


def _port(port: Body, path: str) -> Causes:
    number, host = port.get("containerPort", 0), port.get("hostPort", 0)
    if number == 0:
        yield required(f"{path}.containerPort")
    else:
        yield from all_invalid(f"{path}.containerPort", number, names.port_number(number))
    if host:
        yield from all_invalid(f"{path}.hostPort", host, names.port_number(host))
    protocol = port.get("protocol", "")
    if not protocol:
        yield required(f"{path}.protocol")
    elif protocol not in PROTOCOLS:
        yield not_supported(f"{path}.protocol", protocol, PROTOCOLS)


def validate_host_ports(containers: Sequence[Body], path: str, host_network: bool) -> Causes:
    """Host ports must be unique."""
    seen: set[str] = set()
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports", ())):
            if not port.get("hostPort"):
                continue
            asked = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if asked in seen:
                yield duplicate(f"{path}[{index}].ports[{position}].hostPort", asked)
            seen.add(asked)
    if host_network:
        yield from validate_host_network_ports(containers, path)


def validate_host_network_ports(containers: Sequence[Body], path: str) -> Causes:
    """On the host's network, ports are host ports. Templates may leave these out."""
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports", ())):
            host = port.get("hostPort", 0)
            if host and host != port.get("containerPort", 0):
                yield invalid(
                    f"{path}[{index}].ports[{position}].hostPort",
                    host,
                    "must match `containerPort` when `hostNetwork` is true",
                )
