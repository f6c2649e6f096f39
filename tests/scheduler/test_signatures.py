"""Decisions that reuse the results of earlier cycles equal those that compute everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from apps.scheduler.clock import VirtualClock
from apps.scheduler.config import load
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.intents import Eviction
from apps.scheduler.framework.status import error
from apps.scheduler.objects import Node, Pod, Taint
from apps.scheduler.plugins.registry import TABLE
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add, attempt, search_plainly
from tests.scheduler.machines import machine_settings

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: %d
"""
Template = Callable[[PodBuilder], PodBuilder]

#: what the pods of one template have in common
TEMPLATES: list[Template] = [
    lambda pod: pod.req(cpu="500m", memory="1Gi"),
    lambda pod: pod.req(cpu="1"),
    lambda pod: pod,
    lambda pod: pod.req({"cpu": "100m", "example.com/gpu": "1"}),
    lambda pod: pod.req(cpu="100m").host_port(80),
    lambda pod: pod.req(cpu="1").node_selector({"disk": "ssd"}),
    lambda pod: pod.req(cpu="1").prefers_in(10, "disk", "ssd").prefers_in(3, ZONE, "a"),
    lambda pod: pod.req(cpu="1").toleration("a", "x", "NoSchedule"),
    lambda pod: pod.req(cpu="1").node_names("n1", "n2"),
    lambda pod: pod.req(cpu="100m").image("app:v1"),
    lambda pod: pod.req(cpu="100m").spread(ZONE, {"app": "a"}),
    lambda pod: pod.req(cpu="1").spread(ZONE, {"app": "a"}, when_unsatisfiable="ScheduleAnyway"),
    lambda pod: pod.req(cpu="100m").pod_anti_affinity(HOST, {"app": "a"}),
    lambda pod: pod.req(cpu="100m").pod_affinity(ZONE, {"app": "a"}),
    lambda pod: pod.req(cpu="100m").prefers_pods(HOST, {"app": "a"}, weight=3),
    lambda pod: pod.req(cpu="100m").prefers_pods(ZONE, {"app": "b"}, weight=-2),
    lambda pod: (
        pod.req(cpu="100m")
        .spread(HOST, {"app": "a"}, max_skew=2)
        .spread(ZONE, {"app": "a"}, when_unsatisfiable="ScheduleAnyway")
    ),
    lambda pod: pod.spread(HOST, {"app": "b"}, when_unsatisfiable="ScheduleAnyway"),
    lambda pod: pod.req(cpu="2").priority(100),
    lambda pod: pod.req(cpu="2").host_port(80).priority(1000),
    lambda pod: pod.req(cpu="1").claims("missing"),
]
taints = st.sampled_from([("a", "x", "NoSchedule"), ("b", "y", "PreferNoSchedule")])


@st.composite
def nodes(draw: Any, name: str) -> Node:
    node: NodeBuilder = make_node(name).hostname().zone(draw(st.sampled_from("ab")))
    node.capacity(cpu=draw(st.sampled_from(["1", "4", "8"])), memory="8Gi", pods="7")
    if draw(st.booleans()):
        node.capacity({"example.com/gpu": "2"})
    if draw(st.booleans()):
        node.label("disk", draw(st.sampled_from(["ssd", "hdd"])))
    for key, value, effect in draw(st.lists(taints, max_size=1)):
        node.taint(key, value, effect)
    if draw(st.integers(0, 3)) == 0:
        node.unschedulable()
    if draw(st.booleans()):
        node.image(300 * 1024 * 1024, "app:v1")
    return node.obj()


def facts(decision: Decision) -> dict[str, Any]:
    """Everything in a decision but what takes time, with arrays as lists."""
    statuses = decision.node_statuses
    named = {name: decision.status_of(name) for name in decision.nodes if name}
    return {
        "node": (decision.result, decision.node, decision.message, decision.filter_message),
        "search": (decision.start, decision.evaluated, decision.nominated_fast_path),
        "skipped": (decision.filter_skipped, decision.score_skipped),
        "plugins": (decision.unschedulable_plugins, decision.pending_plugins),
        "pre-filter": (decision.pre_filter, decision.pre_filter_nodes),
        "statuses": named,
        "listed": None if statuses is None else (statuses.statuses, statuses.ids.tolist()),
        "feasible": decision.feasible.tolist(),
        "scores": [
            (name, column.weight, column.raw.tolist(), column.normalized.tolist())
            for name, column in decision.scores.items()
        ],
        "total": decision.total.tolist(),
        "choice": (decision.ties.tolist(), decision.draw, decision.nominating),
        "post-filter": (decision.post_filter_status, decision.intents),
        "preemption": preemption(decision),
        "timed": [(point, list(spent)) for point, spent in decision.plugin_durations.items()],
    }


def preemption(decision: Decision) -> dict[str, Any]:
    found = decision.post_filter
    if found is None:
        return {}
    statuses = found.node_statuses
    return {
        "candidates": (found.candidates, found.ties, found.decided_by, found.offset),
        "statuses": statuses and [statuses.at(row) for row in range(len(decision.nodes))],
        "pods": [[pod.key for pod in pods] for pods in (found.victims, found.displaced)],
    }


class Twins(RuleBasedStateMachine):
    """Two schedulers see the same events; one of them computes everything in each cycle."""

    percentage = 100

    def __init__(self) -> None:
        super().__init__()
        configuration = load(CONFIGURATION % self.percentage, TABLE)
        self.clock = VirtualClock(1000.0)
        self.both = [Scheduler(configuration, clock=self.clock) for _ in range(2)]
        search_plainly(self.both[1])
        self.templates = TEMPLATES
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.count = 0
        #: decisions with what they were when they were taken
        self.taken: list[tuple[Decision, dict[str, Any]]] = []

    def handle(self, kind: str, old: Any, new: Any) -> None:
        for scheduler in self.both:
            scheduler.handle(kind, old, new)

    def put_pod(self, pod: Pod) -> None:
        self.handle("Pod", self.pods.get(pod.metadata.uid), pod)
        self.pods[pod.metadata.uid] = pod

    @initialize(
        data=st.data(),
        templates=st.lists(st.sampled_from(TEMPLATES), min_size=1, max_size=3, unique=True),
    )
    def begin(self, data: st.DataObject, templates: list[Template]) -> None:
        """Few kinds of pods, so that most pods are not the first of their kind."""
        self.templates = templates
        for number in range(data.draw(st.integers(1, 4))):
            self.put_node(data, number)

    def put_node(self, data: st.DataObject, number: int) -> None:
        node = data.draw(nodes(f"n{number}"))
        self.handle("Node", self.nodes.get(node.metadata.name), node)
        self.nodes[node.metadata.name] = node

    @rule(data=st.data(), number=st.integers(0, 5))
    def create_or_update_node(self, data: st.DataObject, number: int) -> None:
        self.put_node(data, number)

    @precondition(lambda self: self.nodes)
    @rule(data=st.data(), cordoned=st.booleans(), tainted=st.booleans())
    def update_spec(self, data: st.DataObject, cordoned: bool, tainted: bool) -> None:
        node = self.nodes[data.draw(st.sampled_from(sorted(self.nodes)))]
        taint = Taint(key="a", value="x", effect="NoSchedule")
        spec = msgspec.structs.replace(
            node.spec, unschedulable=cordoned, taints=(taint,) if tainted else ()
        )
        updated = msgspec.structs.replace(node, spec=spec)
        self.handle("Node", node, updated)
        self.nodes[node.metadata.name] = updated

    @precondition(lambda self: self.nodes)
    @rule(data=st.data())
    def delete_node(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.nodes)))
        self.handle("Node", self.nodes.pop(name), None)

    @rule(data=st.data(), app=st.sampled_from("ab"), count=st.integers(1, 6))
    def create_pods(self, data: st.DataObject, app: str, count: int) -> None:
        for _ in range(count):
            self.create_pod(data.draw(st.sampled_from(self.templates)), app)
        self.take_cycles(count)

    def create_pod(self, template: Template, app: str) -> None:
        self.count += 1
        self.put_pod(template(make_pod(f"p{self.count}").label("app", app)).obj())

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def delete_pod(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.pods)))
        self.handle("Pod", self.pods.pop(uid), None)

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def relabel_pod(self, data: st.DataObject) -> None:
        pod = self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
        metadata = msgspec.structs.replace(pod.metadata, labels={"app": "c"})
        self.put_pod(msgspec.structs.replace(pod, metadata=metadata))

    @rule(seconds=st.sampled_from([1.0, 30.0, 400.0]))
    def wait(self, seconds: float) -> None:
        self.clock.step(seconds)

    @rule(cycles=st.integers(1, 6), fails=st.booleans())
    def schedule(self, cycles: int, fails: bool) -> None:
        self.take_cycles(cycles, fails)

    def take_cycles(self, cycles: int, fails: bool = False) -> None:
        for _ in range(cycles):
            found, plain = (scheduler.schedule_one() for scheduler in self.both)
            if found is None or plain is None:
                assert found is plain
                return
            assert facts(found) == facts(plain)
            if found.result is Result.SCHEDULED:
                self.end_binding(found, plain, fails)
            elif found.nominating is not None:
                self.make_room(found)
            self.taken.append((found, facts(found)))

    def end_binding(self, found: Decision, plain: Decision, fails: bool) -> None:
        for scheduler, decision in zip(self.both, (found, plain), strict=True):
            if fails:
                scheduler.bind_failed(decision, error("the API server is away"))
            else:
                scheduler.bound(decision)
        if not fails:
            pod = self.pods[found.pod_uid]
            spec = msgspec.structs.replace(pod.spec, node_name=found.node)
            self.put_pod(msgspec.structs.replace(pod, spec=spec))

    def make_room(self, found: Decision) -> None:
        pod = self.pods[found.pod_uid]
        assert found.nominating is not None
        node = found.nominating.nominated_node
        status = msgspec.structs.replace(pod.status, nominated_node_name=node)
        self.put_pod(msgspec.structs.replace(pod, status=status))
        for intent in found.intents:
            if isinstance(intent, Eviction):
                self.handle("Pod", self.pods.pop(intent.uid), None)

    @invariant()
    def decisions_do_not_change(self) -> None:
        for decision, before in self.taken[-3:]:
            assert facts(decision) == before

    def teardown(self) -> None:
        for decision, before in self.taken:
            assert facts(decision) == before
        for scheduler in self.both:
            scheduler.validate()
            scheduler.close()


TestTwins = Twins.TestCase
TestTwins.settings = machine_settings(40, 30)


def test_a_part_of_the_nodes_is_searched_as_without_reuse() -> None:
    class Sampling(Twins):
        percentage = 50

    twins = Sampling()
    for number in range(260):
        node = make_node(f"n{number}").hostname().capacity(cpu="4", memory="8Gi", pods="9")
        twins.handle("Node", None, node.label("disk", "ssd" if number % 3 else "hdd").obj())
    for _ in range(4):
        for template in (TEMPLATES[0], TEMPLATES[5], TEMPLATES[6], TEMPLATES[12]):
            for _ in range(3):
                twins.create_pod(template, "a")
    twins.take_cycles(48)
    assert {decision.evaluated for decision, _ in twins.taken} != {260}
    assert all(isinstance(decision.feasible, np.ndarray) for decision, _ in twins.taken)
    twins.teardown()


def test_many_kinds_that_take_turns_are_scheduled_as_without_reuse() -> None:
    """More rows have changed since the last pod of a kind than are entered one by one."""
    twins = Twins()
    for number in range(120):
        node = make_node(f"n{number}").hostname().zone("ab"[number % 2])
        node.capacity(cpu=("2", "4", "8")[number % 3], memory="8Gi", pods="9")
        if number % 4:
            node.capacity({"example.com/gpu": "2"})
        twins.handle("Node", None, node.label("disk", "ssd" if number % 5 else "hdd").obj())

    def kind(number: int) -> Template:
        wants = {"cpu": f"{100 + 37 * number}m", "memory": f"{64 + 50 * number}Mi"}
        if number % 3 == 0:
            wants["example.com/gpu"] = "1"
        if number % 4 == 1:
            return lambda pod: pod.req(wants).node_selector({"disk": "ssd"})
        if number % 8 == 2:
            return lambda pod: pod.req(wants).spread(ZONE, {"app": "a"})
        return lambda pod: pod.req(wants)

    kinds = [kind(number) for number in range(25)]
    for turn in range(9):
        for template in kinds:
            twins.create_pod(template, "a")
        twins.take_cycles(len(kinds), fails=turn == 3)
        twins.taken = twins.taken[-5:]
        for uid in sorted(twins.pods)[turn::40]:
            twins.handle("Pod", twins.pods.pop(uid), None)
    twins.teardown()


def test_equal_amounts_with_other_host_ports_are_another_verdict(
    new_scheduler: NewScheduler,
) -> None:
    scheduler = new_scheduler()

    def bound(name: str, node: str, port: int) -> Pod:
        return make_pod(name).req(cpu="100m").host_port(port).on(node).obj()

    for name in ("n1", "n2"):
        add(scheduler, make_node(name).capacity(cpu="4", memory="8Gi", pods="9"))
    _, taken = add(scheduler, bound("a1", "n1", 80), bound("a2", "n2", 80))
    for number in range(3):
        refused = attempt(scheduler, make_pod(f"p{number}").req(cpu="100m").host_port(80))
        assert refused.result is Result.UNSCHEDULABLE
    # n1 gets another port, and amounts that were not seen before.
    add(scheduler, bound("b1", "n1", 81))
    refused = attempt(scheduler, make_pod("p3").req(cpu="100m").host_port(80))
    assert refused.result is Result.UNSCHEDULABLE
    # n2 gets the same amounts, but no pod there uses the port any more.
    scheduler.handle("Pod", taken, None)
    add(scheduler, bound("b2", "n2", 81), bound("b3", "n2", 82))
    placed = attempt(scheduler, make_pod("p4").req(cpu="100m").host_port(80))
    assert (placed.result, placed.node) == (Result.SCHEDULED, "n2")
