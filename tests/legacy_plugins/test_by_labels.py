"""NodeLabel and ServiceAffinity, as the Policy documents describe them."""

from __future__ import annotations

from typing import Any

from apps.scheduler.objects import Service, decode_as
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from apps.scheduler.testing.trial import refusals, scores
from tests.legacy_plugins.policies import converted
from tests.scheduler.cycle import add, attempt


def under(predicates: list[dict[str, Any]], priorities: list[dict[str, Any]]) -> Scheduler:
    return converted(
        {
            "kind": "Policy",
            "apiVersion": "v1",
            "predicates": predicates,
            "priorities": priorities,
        }
    )


def service(name: str, **selector: str) -> Service:
    meta = {"name": name, "namespace": "default"}
    return decode_as(Service, {"metadata": meta, "spec": {"selector": selector}})


def test_nodes_are_required_and_preferred_by_their_labels() -> None:
    requirement = {"labels": ["rack"], "presence": True}
    preference = {"label": "ssd", "presence": True}
    scheduler = under(
        [{"name": "RackNeeded", "argument": {"labelsPresence": requirement}}],
        [{"name": "Ssd", "weight": 2, "argument": {"labelPreference": preference}}],
    )
    add(scheduler, make_node("a").label("rack", "1"), make_node("b"))
    add(scheduler, make_node("c").label("rack", "2").label("ssd"))
    decision = attempt(scheduler, make_pod("p"))
    assert refusals(decision) == {"b": "node(s) didn't have the requested labels"}
    assert scores(decision, "NodeLabel") == {"a": (0, 0, 0), "c": (100, 100, 200)}


def test_pods_of_a_service_follow_the_first_one_to_its_region() -> None:
    affinity = {"serviceAffinity": {"labels": ["region"]}}
    scheduler = under([{"name": "Together", "argument": affinity}], [])
    for node, region in (("a", "foo"), ("b", "bar"), ("c", "foo")):
        add(scheduler, make_node(node).label("region", region))
    add(scheduler, service("web", app="web"), make_pod("first").label("app", "web").on("b"))
    decision = attempt(scheduler, make_pod("second").label("app", "web"))
    assert decision.node == "b"
    assert set(refusals(decision).values()) == {"node(s) didn't match service affinity"}
    # a pod of no service is free, unless it selects a region itself
    assert attempt(scheduler, make_pod("third").label("app", "db")).node == "a"
    chosen = attempt(scheduler, make_pod("fourth").node_selector({"region": "foo"}))
    # without scores the search stops at the first feasible node, c
    assert chosen.node == "c"
    assert refusals(chosen)["b"] == "node(s) didn't match service affinity"


def test_pods_of_a_service_are_spread_over_the_values_of_a_label() -> None:
    """Two pods in zone1 and one in zone2: 1/3, 2/3 and 3/3 of 100."""
    spread = {"serviceAntiAffinity": {"label": "zone"}}
    scheduler = under([], [{"name": "Zones", "weight": 1, "argument": spread}])
    for node, zone in (("a", "zone1"), ("b", "zone2"), ("c", "zone3")):
        add(scheduler, make_node(node).label("zone", zone))
    add(scheduler, make_node("without"), service("web", app="web"))
    for name, node in (("p", "a"), ("q", "a"), ("r", "b")):
        add(scheduler, make_pod(name).label("app", "web").on(node))
    decision = attempt(scheduler, make_pod("new").label("app", "web"))
    assert scores(decision, "ServiceAffinity") == {
        "a": (2, 33, 33),
        "b": (1, 66, 66),
        "c": (0, 100, 100),
        "without": (0, 0, 0),
    }
