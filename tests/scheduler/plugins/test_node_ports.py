"""NodePorts: host ports are taken once per node, address and protocol."""

from __future__ import annotations

from typing import Any

import pytest

from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.cycle import add, attempt, explained


@pytest.mark.parametrize(
    ("name", "taken", "wanted", "conflict"),
    [
        ("same port", {}, {}, True),
        ("other protocol", {"protocol": "UDP"}, {}, False),
        ("other address", {"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}, False),
        ("all addresses", {"ip": "10.0.0.1"}, {"ip": "0.0.0.0"}, True),
    ],
)
def test_host_ports(
    scheduler: Scheduler, name: str, taken: Any, wanted: Any, conflict: bool
) -> None:
    running = make_pod("r").host_port(80, **taken).on("n")
    decision = attempt(scheduler, make_pod("p").host_port(80, **wanted), make_node("n"), running)
    assert (decision.node == "") is conflict, name


def test_the_pod_that_has_the_port_is_named(scheduler: Scheduler) -> None:
    add(scheduler, make_node("n"), make_pod("holder").host_port(8080).on("n"))
    assert explained(scheduler, make_pod().host_port(8080)) == [
        "NodePorts: host port TCP 8080 is used by default/holder"
    ]
