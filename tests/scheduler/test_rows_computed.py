"""How many rows plugins compute for a pod: a lost optimization shows here, on any machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from cProfile import Profile
from typing import Any

import pytest

from apps.scheduler.framework.reuse.changed_rows import ChangedRows
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.interpodaffinity.plugin import InterPodAffinity
from apps.scheduler.plugins.noderesources.balanced_allocation import (
    NodeResourcesBalancedAllocation,
)
from apps.scheduler.plugins.noderesources.fit import NodeResourcesFit
from apps.scheduler.plugins.podtopologyspread.plugin import PodTopologySpread
from apps.scheduler.plugins.registry import BUILT_IN
from apps.scheduler.plugins.taint_toleration import TaintToleration
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import PodBuilder, make_node, make_pod
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add, attempt

NODES = 200
HOST = "kubernetes.io/hostname"
COUNTED = (NodeResourcesFit, NodeResourcesBalancedAllocation, TaintToleration)


def counting(base: Any, rows: Counter[str], *, signs: bool = True) -> Any:
    """The plugin, adding up the rows it is asked about."""

    class Counting(base):  # type: ignore[misc]
        def filter(self, state: Any, pod: Any, nodes: Any) -> Any:
            rows[f"{self.name}/Filter"] += len(nodes)
            return super().filter(state, pod, nodes)

        def score(self, state: Any, pod: Any, nodes: Any, lines: Any) -> Any:
            rows[f"{self.name}/Score"] += len(nodes)
            return super().score(state, pod, nodes, lines)

    if signs:

        def sign(self: Any, pod: PodInfo) -> Hashable | None:
            signed: Hashable | None = base.sign(self, pod)
            return signed

        Counting.sign = sign
        Counting.normalizes_by_extremes = getattr(base, "normalizes_by_extremes", False)
    return Counting


def calls(base: Any, counts: Counter[str]) -> Any:
    """The plugin, counting its PreFilter and PreScore."""

    class Calls(base):  # type: ignore[misc]
        def skips(self, pod: PodInfo) -> bool:
            return bool(super().skips(pod))

        def pre_filter(self, *args: Any) -> Any:
            counts[f"{self.name}/PreFilter"] += 1
            return super().pre_filter(*args)

        def pre_score(self, *args: Any) -> Any:
            counts[f"{self.name}/PreScore"] += 1
            return super().pre_score(*args)

    return Calls


@pytest.fixture
def rows() -> Counter[str]:
    return Counter()


@pytest.fixture
def scheduler(new_scheduler: NewScheduler, rows: Counter[str]) -> Scheduler:
    registry = {**BUILT_IN, **{each.name: counting(each, rows) for each in COUNTED}}
    scheduler = new_scheduler(registry=registry, config={"percentageOfNodesToScore": 100})
    for number in range(NODES):
        add(scheduler, make_node(f"n{number}").capacity(cpu="4", memory="8Gi", pods="110"))
    return scheduler


def pod(number: int) -> PodBuilder:
    return make_pod(f"p{number}").req(cpu="100m", memory="128Mi")


def test_the_next_pod_of_a_kind_costs_the_row_that_the_last_one_changed(
    scheduler: Scheduler, rows: Counter[str]
) -> None:
    for number in range(3):
        attempt(scheduler, pod(number))
    rows.clear()
    for number in range(3, 53):
        attempt(scheduler, pod(number))
    assert not {name for name in rows if name.startswith("TaintToleration")}
    assert max(rows.values(), default=0) <= 50


def test_equal_nodes_with_equal_pods_are_computed_once(
    scheduler: Scheduler, rows: Counter[str]
) -> None:
    for number in range(5):
        attempt(scheduler, pod(number))
    rows.clear()
    for number in range(5, 25):
        attempt(scheduler, pod(number))
    assert not rows


def test_a_node_that_fills_does_not_cost_the_other_nodes(
    scheduler: Scheduler, rows: Counter[str]
) -> None:
    for number in range(5):
        attempt(scheduler, pod(number).req(cpu="4"))
    rows.clear()
    for number in range(5, 55):
        attempt(scheduler, pod(number).req(cpu="4"))
    assert not rows


def test_scores_that_are_equal_on_all_nodes_are_one_array_when_a_node_has_filled(
    scheduler: Scheduler,
) -> None:
    for number in range(5):
        found = attempt(scheduler, pod(number).req(cpu="4"))
    raw = [column.raw for name, column in found.scores.items() if name != "NodeResourcesFit"]
    assert len(raw) > 2
    assert all(len(column) == NODES - 4 for column in raw)
    level = [column for column in raw if len(set(column.tolist())) == 1]
    assert len({id(column) for column in level}) == len({int(column[0]) for column in level})


def test_nominated_pods_cost_their_own_nodes(scheduler: Scheduler, rows: Counter[str]) -> None:
    for number in range(5):
        attempt(scheduler, pod(number))
    for node in ("n7", "n8"):
        rival = make_pod(f"rival-{node}").priority(10).req(cpu="4").info()
        scheduler.queue.add_nominated_pod(rival, node)
    rows.clear()
    for number in range(5, 15):
        found = attempt(scheduler, pod(number))
        assert len(found.feasible) == NODES - 2
    # A node with a nominated pod is filtered with it once, no other node is.
    assert rows["NodeResourcesFit/Filter"] == 2
    assert rows["NodeResourcesFit/Score"] <= 10
    rows.clear()
    add(scheduler, make_pod("running").req(cpu="10m").on("n7"))
    attempt(scheduler, pod(15))
    assert rows["NodeResourcesFit/Filter"] <= 3
    rows.clear()
    rival = make_pod("rival-n7").priority(10).req(cpu="4").info()
    scheduler.queue.delete_nominated_pod(rival)
    found = attempt(scheduler, pod(16))
    assert len(found.feasible) == NODES - 1


def test_a_node_with_room_again_does_not_cost_the_other_nodes(
    scheduler: Scheduler, rows: Counter[str]
) -> None:
    (running,) = add(scheduler, pod(0).req(cpu="4").on("n0"))
    for number in range(1, 5):
        attempt(scheduler, pod(number).req(cpu="4"))
    rows.clear()
    scheduler.handle("Pod", running, None)
    found = attempt(scheduler, pod(5).req(cpu="4"))
    assert found.status_of("n0") is None
    assert "n0" in [found.nodes[row] for row in found.feasible]
    assert max(rows.values(), default=0) <= 1


def test_filters_that_had_no_node_left_run_when_one_has_room_again(
    new_scheduler: NewScheduler,
) -> None:
    scheduler = new_scheduler(config={"percentageOfNodesToScore": 100})
    for name in ("n0", "n1"):
        add(scheduler, make_node(name).capacity(cpu="4", memory="8Gi", pods="110"))
    running = [add(scheduler, pod(n).host_port(80).on(f"n{n}"))[0] for n in range(2)]
    for number in range(2, 6):
        found = attempt(scheduler, pod(number).host_port(80))
    assert "NodeResourcesFit" not in found.plugin_durations["Filter"]
    scheduler.handle("Pod", running[0], None)
    found = attempt(scheduler, pod(6).host_port(80))
    assert found.node == "n0"
    assert "NodeResourcesFit" in found.plugin_durations["Filter"]


def test_a_row_whose_node_was_deleted_has_no_ports_in_use(new_scheduler: NewScheduler) -> None:
    scheduler = new_scheduler()
    first, *_ = add(scheduler, *(make_node(f"n{number}").capacity(cpu="4") for number in range(3)))
    add(scheduler, make_pod("running").host_port(80).on("n1"))
    attempt(scheduler, make_pod("p0"))
    scheduler.handle("Node", first, None)
    attempt(scheduler, make_pod("p1"))
    snapshot = scheduler.snapshot
    every_row = ChangedRows(snapshot, None).nodes
    conflicts = every_row.port_conflicts(make_pod("p2").host_port(80).info().host_ports)
    assert [snapshot.names[row] for row in conflicts.nonzero()[0]] == ["n1"]


def test_a_node_that_anti_affinity_excludes_does_not_cost_the_other_nodes(
    scheduler: Scheduler, rows: Counter[str]
) -> None:
    def apart(number: int) -> PodBuilder:
        return pod(number).label("app", "a").pod_anti_affinity(HOST, {"app": "a"})

    for number in range(NODES):
        before = scheduler.cache.nodes[f"n{number}"].node
        node = make_node(f"n{number}").hostname().capacity(cpu="4", memory="8Gi", pods="110")
        scheduler.handle("Node", before, node.obj())
    for number in range(5):
        attempt(scheduler, apart(number))
    rows.clear()
    for number in range(5, 25):
        found = attempt(scheduler, apart(number))
        assert len(found.feasible) == len(found.total) == NODES - number
        assert all(len(column.raw) == NODES - number for column in found.scores.values())
    assert not rows


@pytest.mark.parametrize(("kinds", "most"), [(6, 560), (40, 620)])
def test_kinds_that_take_turns_cost_one_batch_of_rows(
    new_scheduler: NewScheduler, kinds: int, most: int
) -> None:
    """No two nodes have equal amounts, so nothing is known of a row that changed."""
    scheduler = new_scheduler({"percentageOfNodesToScore": 100})
    for number in range(NODES):
        node = make_node(f"n{number}").capacity(cpu="64", memory=f"{200 + number}Gi", pods="110")
        add(scheduler, node)

    def pods(first: int, count: int) -> list[PodBuilder]:
        return [pod(n).req(cpu=f"{100 + n % kinds}m") for n in range(first, first + count)]

    for each in pods(0, 3 * kinds):
        attempt(scheduler, each)
    add(scheduler, *pods(3 * kinds, 40))
    profile = Profile()
    profile.enable()
    for _ in range(40):
        scheduler.schedule_one()
    profile.disable()
    total = sum(entry.callcount for entry in profile.getstats()) / 40
    assert total < most


def test_plugins_with_nothing_to_do_are_not_called(
    new_scheduler: NewScheduler, rows: Counter[str]
) -> None:
    """InterPodAffinity and PodTopologySpread look at other nodes, and so do not sign a pod."""
    idle = {each.name: calls(each, rows) for each in (InterPodAffinity, PodTopologySpread)}
    scheduler = new_scheduler(registry={**BUILT_IN, **idle})
    for number in range(4):
        add(scheduler, make_node(f"n{number}").capacity(cpu="4", memory="8Gi", pods="110"))
    for number in range(4):
        attempt(scheduler, pod(number))
    rows.clear()
    for number in range(4, 12):
        attempt(scheduler, pod(number))
    assert not rows
    attempt(scheduler, pod(12).label("app", "a").pod_anti_affinity("zone", {"app": "a"}))
    attempt(scheduler, pod(13).label("app", "a"))
    assert rows["InterPodAffinity/PreFilter"] == 2


def test_a_repeated_pod_costs_the_same_with_more_nodes(new_scheduler: NewScheduler) -> None:
    config = {"percentageOfNodesToScore": 100}
    few, many = (calls_per_pod(new_scheduler(config), nodes) for nodes in (30, 600))
    assert few < 232
    assert many < few + 10


def calls_per_pod(scheduler: Scheduler, nodes: int) -> float:
    """Calls of functions, built-in ones included, for a pod whose signature is known."""
    for number in range(nodes):
        add(scheduler, make_node(f"n{number}").capacity(cpu="4", memory="8Gi", pods="110"))
    for number in range(10):
        attempt(scheduler, pod(number))
    add(scheduler, *(pod(number) for number in range(10, 30)))
    profile = Profile()
    profile.enable()
    for _ in range(20):
        scheduler.schedule_one()
    profile.disable()
    return sum(entry.callcount for entry in profile.getstats()) / 20


def test_a_changed_node_is_computed_again(scheduler: Scheduler, rows: Counter[str]) -> None:
    for number in range(4):
        attempt(scheduler, pod(number))
    rows.clear()
    before = scheduler.cache.nodes["n7"].node
    scheduler.handle("Node", before, make_node("n7").capacity(cpu="64", memory="8Gi").obj())
    attempt(scheduler, pod(4))
    assert rows["NodeResourcesFit/Score"] == NODES


def test_a_subclass_signs_for_itself(new_scheduler: NewScheduler, rows: Counter[str]) -> None:
    """What a subclass reads is not known to its base: without ``sign`` it runs in each cycle."""
    registry = {**BUILT_IN, "TaintToleration": counting(TaintToleration, rows, signs=False)}
    scheduler = new_scheduler(registry=registry)
    add(scheduler, make_node("n1").capacity(cpu="4", memory="8Gi", pods="110"))
    add(scheduler, make_node("n2").capacity(cpu="4", memory="8Gi", pods="110"))
    for number in range(5):
        attempt(scheduler, pod(number))
    assert rows["TaintToleration/Filter"] == 10
    assert rows["TaintToleration/Score"] == 10


@pytest.mark.parametrize("is_same_node", [True, False])
def test_a_pod_that_may_run_on_one_node_costs_that_node(
    scheduler: Scheduler, rows: Counter[str], is_same_node: bool
) -> None:
    """As the pods of a DaemonSet; each of these has a name, and so a signature, of its own."""

    def daemon(number: int) -> PodBuilder:
        return pod(number).node_names("n0" if is_same_node else f"n{number}")

    for number in range(4):
        attempt(scheduler, daemon(number))
    rows.clear()
    for number in range(4, 24):
        found = attempt(scheduler, daemon(number))
        assert len(found.feasible) == len(found.total) == 1
    assert rows["NodeResourcesFit/Filter"] == rows["NodeResourcesFit/Score"] == 20
    assert max(rows.values()) == 20
