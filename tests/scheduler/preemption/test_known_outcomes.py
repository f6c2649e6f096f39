"""Preemption that uses the outcomes of earlier dry runs equals preemption that tries every node."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from apps.scheduler.decision import Decision
from apps.scheduler.framework.intents import Eviction
from apps.scheduler.objects import PodDisruptionBudget, decode_as
from apps.scheduler.plugins.default_preemption import DefaultPreemption
from apps.scheduler.testing.builders import PodBuilder, make_node
from tests.scheduler.test_signatures import HOST, Template, Twins

STARTS = st.sampled_from([f"2026-01-01T00:00:0{second}Z" for second in range(3)])
VICTIMS: list[Template] = [
    lambda pod: pod.req(cpu="1").priority(1),
    lambda pod: pod.req(cpu="1").priority(2),
    lambda pod: pod.req(cpu="500m", memory="1Gi").priority(1),
    lambda pod: pod.req({"cpu": "500m", "example.com/gpu": "1"}).priority(2),
    lambda pod: pod.req(cpu="100m").host_port(80).priority(1),
    lambda pod: pod.priority(-1),
]
PREEMPTORS: list[Template] = [
    lambda pod: pod.req(cpu="1500m").priority(10),
    lambda pod: pod.req(cpu="1500m").priority(2),
    lambda pod: pod.req(cpu="1", memory="2Gi").priority(10),
    lambda pod: pod.req({"cpu": "1", "example.com/gpu": "1"}).priority(10),
    lambda pod: pod.req(cpu="1").host_port(80).priority(10),
    lambda pod: pod.req(cpu="1").node_selector({"disk": "ssd"}).priority(10),
    lambda pod: pod.req(cpu="64").priority(10),
    lambda pod: pod.req(cpu="1").spread(HOST, {"app": "a"}).priority(10),
]


def loner(pod: PodBuilder) -> PodBuilder:
    """With such pods on the nodes, filters look beyond the node."""
    return pod.req(cpu="500m").pod_anti_affinity(HOST, {"app": "a"}).priority(2)


class Preemptors(Twins):
    """Two schedulers with full nodes; one tries every node in every cycle."""

    def __init__(self) -> None:
        super().__init__()
        self.graceful = False
        self.preemptors: list[Template] = []
        plugin = self.both[1].profiles["default-scheduler"].plugins["DefaultPreemption"]
        assert isinstance(plugin, DefaultPreemption)
        plugin.evaluator.reuses_outcomes = False

    @initialize(
        data=st.data(),
        templates=st.lists(st.sampled_from(VICTIMS), min_size=1, max_size=3, unique=True),
        preemptors=st.lists(st.sampled_from(PREEMPTORS), min_size=1, max_size=2, unique=True),
    )
    def begin(  # type: ignore[override]
        self, data: st.DataObject, templates: list[Template], preemptors: list[Template]
    ) -> None:
        for number in range(data.draw(st.integers(3, 6))):
            node = make_node(f"n{number}").hostname().capacity(cpu="2", memory="4Gi", pods="5")
            node.capacity({"example.com/gpu": "2"}).label("disk", "ssd" if number % 2 else "hdd")
            self.handle("Node", None, node.obj())
            self.nodes[f"n{number}"] = node.obj()
        self.templates = [*templates, *data.draw(st.sampled_from([[], [loner]]))]
        self.preemptors = preemptors
        for _ in range(4 * len(self.nodes)):
            self.create_pod(data.draw(st.sampled_from(self.templates)), "a")
        self.take_cycles(4 * len(self.nodes))

    @rule(data=st.data(), app=st.sampled_from("ab"), count=st.integers(1, 5))
    def create_preemptors(self, data: st.DataObject, app: str, count: int) -> None:
        """Pods of one kind: all but the first may use what is known."""
        template = data.draw(st.sampled_from(self.preemptors))
        for _ in range(count):
            self.create_pod(template, app)
        self.take_cycles(count)

    @precondition(lambda self: self.pods)
    @rule(data=st.data(), time=STARTS)
    def start_pod(self, data: st.DataObject, time: str) -> None:
        pod = self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
        if pod.spec.node_name:
            status = msgspec.structs.replace(pod.status, start_time=time)
            self.put_pod(msgspec.structs.replace(pod, status=status))

    @rule(name=st.sampled_from("xy"), app=st.sampled_from("ab"), allowed=st.integers(0, 3))
    def put_budget(self, name: str, app: str, allowed: int) -> None:
        body = {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": app}}},
            "status": {"disruptionsAllowed": allowed},
        }
        self.handle("PodDisruptionBudget", None, decode_as(PodDisruptionBudget, body))

    @rule(graceful=st.booleans())
    def give_victims_time(self, graceful: bool) -> None:
        self.graceful = graceful

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def withdraw_nomination(self, data: st.DataObject) -> None:
        pod = self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
        if pod.status.nominated_node_name and not pod.spec.node_name:
            status = msgspec.structs.replace(pod.status, nominated_node_name="")
            self.put_pod(msgspec.structs.replace(pod, status=status))

    def make_room(self, found: Decision) -> None:
        if not self.graceful:
            super().make_room(found)
            return
        pod = self.pods[found.pod_uid]
        assert found.nominating is not None
        node = found.nominating.nominated_node
        status = msgspec.structs.replace(pod.status, nominated_node_name=node)
        self.put_pod(msgspec.structs.replace(pod, status=status))
        for intent in found.intents:
            if isinstance(intent, Eviction):
                self.terminate(intent.uid)

    def terminate(self, uid: str) -> None:
        pod: Any = self.pods[uid]
        time = "2026-01-01T00:01:00Z"
        metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp=time)
        self.put_pod(msgspec.structs.replace(pod, metadata=metadata))


TestPreemptors = Preemptors.TestCase
TestPreemptors.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
