"""Which node ports a service asks for, and which it has to be given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Spec = Mapping[str, Any]


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
