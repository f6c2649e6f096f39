"""SelectorSpread: the pods of a service over zones and nodes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.scheduler.objects import KubeObject, decode
from apps.scheduler.testing.builders import make_node, make_pod
from apps.scheduler.testing.trial import scores
from legacy_plugins.selector_spread import NO_ZONE, spread
from tests.legacy_plugins.policies import under_policy
from tests.scheduler.cycle import add, attempt

ZONE = "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("counts", "zones", "expected"),
    [
        ([0, 0], [NO_ZONE, NO_ZONE], [100, 100]),
        ([2, 1, 0], [NO_ZONE] * 3, [0, 50, 100]),
        # Two zones with three nodes each and one with a single node.
        ([0, 1, 1, 0, 1, 0], [0, 1, 1, 2, 2, 2], [100, 0, 0, 66, 33, 66]),
        ([0, 0], [0, 0], [100, 100]),
        ([1, 1, 0], [0, NO_ZONE, NO_ZONE], [0, 0, 100]),
    ],
)
def test_pods_of_a_kind_are_spread_over_zones_and_nodes(
    counts: list[int], zones: list[int], expected: list[int]
) -> None:
    assert spread(np.array(counts), np.array(zones)).tolist() == expected


@given(nodes=st.lists(st.tuples(st.integers(0, 50), st.integers(-1, 3)), min_size=1, max_size=8))
def test_spreading_agrees_with_the_formula_node_by_node(nodes: list[tuple[int, int]]) -> None:
    in_zone: dict[int, int] = {}
    for count, zone in nodes:
        if zone != NO_ZONE:
            in_zone[zone] = in_zone.get(zone, 0) + count
    most, most_in_zone = max(count for count, _ in nodes), max(in_zone.values(), default=0)
    expected = []
    for count, zone in nodes:
        score = 100.0 * ((most - count) / most) if most else 100.0
        if zone != NO_ZONE:
            free = (most_in_zone - in_zone[zone]) / most_in_zone if most_in_zone else 1.0
            score = score * (1.0 - 2.0 / 3.0) + (2.0 / 3.0) * (100.0 * free)
        expected.append(int(score))
    counts, zones = (np.array(column) for column in zip(*nodes, strict=True))
    found = spread(counts, zones).tolist()
    assert found == expected
    assert all(0 <= score <= 100 for score in found)


def service(**selector: str) -> KubeObject:
    meta = {"name": "s", "namespace": "default"}
    return decode("Service", {"metadata": meta, "spec": {"selector": selector}})


def test_a_services_pods_go_where_the_fewest_of_them_run() -> None:
    scheduler = under_policy(["HostName"], {"SelectorSpreadPriority": 1})
    add(scheduler, service(app="web"))
    for name, zone in (("a", "z1"), ("b", "z1"), ("c", "z2")):
        add(scheduler, make_node(name).label(ZONE, zone))
    web = {"app": "web"}
    add(scheduler, make_pod("r1").labels(web).on("a"), make_pod("r2").labels(web).on("c"))
    add(scheduler, make_pod("r3").labels(web).on("c"), make_pod("r4").on("b"))
    add(scheduler, make_pod("gone").labels(web).terminating().on("b"))
    decision = attempt(scheduler, make_pod("p").labels(web))
    found = scores(decision, "SelectorSpread")
    assert [found[node][:2] for node in "abc"] == [(1, 50), (0, 66), (2, 0)]
    alone = scores(attempt(scheduler, make_pod("q")), "SelectorSpread")
    assert [alone[node][1] for node in "abc"] == [100, 100, 100]


def test_a_pod_with_constraints_of_its_own_is_not_spread_by_selector() -> None:
    scheduler = under_policy(["HostName"], {"SelectorSpreadPriority": 1})
    add(scheduler, make_node("a"), make_node("b"))
    decision = attempt(scheduler, make_pod("p").spread(ZONE, {"app": "web"}))
    assert decision.score_skipped == {"SelectorSpread"}
