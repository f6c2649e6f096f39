"""NodeDeclaredFeatures: features that the kubelet declares."""

from __future__ import annotations

import pytest

from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import PodBuilder, make_node, make_pod
from tests.scheduler.cycle import add, attempt

RESTARTS, NAMESPACES = "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"


def needy_pod() -> PodBuilder:
    rules = [{"action": "RestartAllContainers"}]
    containers = [{"name": "c", "restartPolicyRules": rules}]
    return make_pod("p").spec(containers=containers, hostNetwork=True, hostUsers=False)


@pytest.mark.parametrize(
    ("declared", "missing"),
    [
        ([], f"{RESTARTS}, {NAMESPACES}"),
        ([RESTARTS], NAMESPACES),
        ([NAMESPACES, "Other"], RESTARTS),
        ([RESTARTS, NAMESPACES], ""),
    ],
)
def test_a_pod_goes_where_the_features_it_needs_are_declared(
    scheduler: Scheduler, declared: list[str], missing: str
) -> None:
    node = make_node("n")
    node.body["status"]["declaredFeatures"] = declared
    add(scheduler, node)
    decision = attempt(scheduler, needy_pod())
    reason = "node(s) didn't match Pod's required features"
    assert (reason in decision.message) is bool(missing)
    assert bool(decision.node) is not bool(missing)
