"""PostFilter on random clusters against the slow and obvious reference."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.scheduler.attempt import Attempt, new_attempt
from apps.scheduler.config import default_configuration
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.interface import NominatingInfo
from apps.scheduler.framework.status import Code
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import PodDisruptionBudget, decode_as
from apps.scheduler.plugins.registry import TABLE
from apps.scheduler.preemption.budgets import Budgets
from apps.scheduler.preemption.dry_run import DryRun
from apps.scheduler.preemption.evictable import EvictablePods
from apps.scheduler.preemption.importance import lowest_priority
from apps.scheduler.schedule_one import scheduling_cycle
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import PodBuilder, make_node, make_pod
from tests.scheduler.preemption.reference import Cluster, best

NODES = ("n1", "n2", "n3", "n4")
CONFIG = default_configuration(TABLE)
STARTS = (None, "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z", "2026-01-01T00:00:03Z")

keys = st.sampled_from(["zone", "kubernetes.io/hostname"])
slots = st.sampled_from([3, 110])
starts = st.sampled_from(STARTS)

priorities = st.integers(-1, 3)
cpus = st.sampled_from(["4", "2", "1", "1500m", "500m", "0"])
apps = st.sampled_from(["x", "x", "y"])


@st.composite
def pods(draw: Any, name: str, *, loners: bool = False) -> PodBuilder:
    """``loners``: some keep away from pods of app x."""
    pod = make_pod(name).label("app", draw(apps)).priority(draw(priorities)).req(cpu=draw(cpus))
    if draw(st.integers(0, 3)) == 0:
        pod.host_port(draw(st.sampled_from([80, 81])))
    if loners and draw(st.integers(0, 4)) == 0:
        pod.pod_anti_affinity(
            draw(st.sampled_from(["zone", "kubernetes.io/hostname"])), {"app": "x"}
        )
    return pod


@st.composite
def clusters(draw: Any, *, loners: bool) -> Cluster:
    present = NODES[: draw(st.integers(1, 4))]
    names = st.sampled_from(present)
    nodes = [
        make_node(name).hostname().label("zone", f"z{number % 2}").capacity(pods=draw(slots)).obj()
        for number, name in enumerate(present)
    ]
    running = [
        draw(pods(f"r{number}", loners=loners)).on(draw(names)).started(draw(starts))
        for number in range(draw(st.integers(4, 12)))
    ]
    without_shared_ports(running)
    # Upstream does not tell plugins that skip a cycle of nominated pods: these are no loners.
    nominated = [(draw(names), draw(pods(f"m{n}")).info()) for n in range(draw(st.integers(0, 2)))]
    budgets = [draw(budget(f"b{number}")) for number in range(draw(st.integers(0, 2)))]
    return Cluster(CONFIG, nodes, [pod.info() for pod in running], budgets, nominated)


def without_shared_ports(running: list[PodBuilder]) -> None:
    """Two running pods never have the same host port."""
    taken = set()
    for pod in running:
        where = {(pod.obj().spec.node_name, port) for port in pod.info().host_ports}
        if taken & where:
            pod.body["spec"]["containers"][0]["ports"] = []
        taken |= where


@st.composite
def budget(draw: Any, name: str) -> PodDisruptionBudget:
    labels = draw(st.sampled_from([{"app": "x"}, {"app": "y"}, {}]))
    disrupted = draw(st.sets(st.sampled_from(["r0", "r1", "r2"]), max_size=1))
    body = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}},
        "status": {
            "disruptionsAllowed": draw(st.integers(0, 2)),
            "disruptedPods": dict.fromkeys(disrupted, "2026-01-01T00:00:00Z"),
        },
    }
    return decode_as(PodDisruptionBudget, body)


def scheduler_of(cluster: Cluster) -> Scheduler:
    scheduler = cluster.scheduler(cluster.pods)
    for node, pod in cluster.nominated:
        scheduler.queue.add_nominated_pod(pod, node)
    return scheduler


def attempt(scheduler: Scheduler, pod: PodInfo) -> Attempt:
    made = new_attempt(scheduler.profiles["default-scheduler"], pod)
    scheduling_cycle(scheduler.context, made)
    return made


@pytest.mark.parametrize("loners", [False, True], ids=["local filters", "with affinity and spread"])
@settings(deadline=None, max_examples=60)
@given(st.data())
def test_victims_and_choice_are_those_of_the_reference(loners: bool, data: st.DataObject) -> None:
    cluster = data.draw(clusters(loners=loners))
    builder = data.draw(pods("incoming", loners=loners)).priority(2)
    if loners and data.draw(st.booleans()):
        builder.spread(data.draw(keys), {"app": "x"}, max_skew=data.draw(st.integers(1, 2)))
    pod = builder.info()
    decision = attempt(scheduler_of(cluster), pod).decision
    result, statuses = decision.post_filter, decision.node_statuses
    if result is None or statuses is None:
        return
    unschedulable = statuses.with_code(Code.UNSCHEDULABLE)
    expected = {
        node: found
        for row, node in enumerate(decision.nodes)
        if unschedulable[row] and (found := cluster.victims_on(pod, node)) is not None
    }
    found = {each.node: (list(each.victims), each.pdb_violations) for each in result.candidates}
    assert found == expected
    if expected:
        by_key = {each.key: each for each in cluster.pods}
        ties = best({n: ([by_key[key] for key in keys], b) for n, (keys, b) in expected.items()})
        assert list(result.ties) == ties
        assert decision.nominating == NominatingInfo(ties[0])


@settings(deadline=None, max_examples=100)
@given(clusters(loners=True), pods("incoming", loners=True))
def test_many_rows_at_once_give_what_each_row_gives_alone(
    cluster: Cluster, builder: PodBuilder
) -> None:
    scheduler = scheduler_of(cluster)
    snapshot = scheduler.snapshot
    made = attempt(scheduler, builder.priority(2).info())
    budgets = Budgets(scheduler.cache.listers.pod_disruption_budgets)
    dry_run = DryRun(
        made.framework.filters,
        snapshot,
        made.state,
        made.pod,
        EvictablePods(snapshot, budgets),
        is_signed=made.framework.filters.signature(made.state, made.pod) is not None,
    )
    rows = snapshot.order[lowest_priority(snapshot)[snapshot.order] < 2]
    refusals = dry_run.refusals(rows)
    helped = iter(dry_run.select_victims(rows[refusals.ids == NodeStatuses.FEASIBLE]))
    together = [refusals.at(row) or next(helped) for row in range(len(rows))]
    assert together == [dry_run.select_victims_on_node(row) for row in rows.tolist()]
