"""What the notes on charts say, from the change log, operations and the audit log."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from apps.administration.clusters.lifecycle import create_cluster, pause, resume
from apps.administration.operations import running, service
from apps.cluster import kinds, node_changes
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Update
from apps.cluster.writing import store
from apps.engine.loop import clock
from apps.engine.loop.engines import Engines
from apps.engine.periods import Period
from apps.studies.history.milestones import MilestoneKind, read_milestones
from tests.engine.driving import configure, create_pods, pod

pytestmark = pytest.mark.django_db(transaction=True)

ALICE = Actor("alice", "request-7")


@pytest.fixture
def cluster(transactional_db: None) -> Cluster:
    return create_cluster("lab", user="alice", nodes=6)


def set_ready(cluster: Cluster, name: str, status: str) -> None:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        conditions = [{"type": "Ready", "status": status}]
        return {**body, "status": {**body["status"], "conditions": conditions}}

    store.write(cluster, [Update(kinds.NODE, "", name, change, "status")], actor=ALICE)


def texts(cluster: Cluster, period: Period | None = None) -> list[str]:
    found = read_milestones(cluster, period or Period()).milestones
    return [f"{each.user}: {each.text}" for each in found]


def test_what_happened_is_told_in_order_with_who_did_it(cluster: Cluster) -> None:
    create_pods(cluster, *(pod(f"web-{number}") for number in range(4)))
    Engines().run(cluster.pk)
    for number in range(4):
        set_ready(cluster, f"node-{number}", "False")
    node_changes.change_nodes(cluster, ["node-4"], node_changes.cordon(True), actor=ALICE)
    Engines().run(cluster.pk)
    set_ready(cluster, "node-0", "True")
    pause(cluster)
    resume(cluster)
    configure(cluster, percentageOfNodesToScore=50)
    cluster.refresh_from_db()
    assert [each for each in texts(cluster) if "activated" not in each] == [
        "alice: 6 nodes added",
        "alice: 4 nodes failed",
        "alice: node-4 cordoned",
        "alice: node-0 ready again",
        ": paused",
    ]
    found = read_milestones(cluster, Period()).milestones
    by_kind = {each.kind: each for each in found}
    failure = by_kind[MilestoneKind.FAILURE]
    assert failure.nodes == ["node-0", "node-1", "node-2", "node-3"] and failure.version
    assert by_kind[MilestoneKind.PAUSE].until is not None
    assert by_kind[MilestoneKind.ACTIVATION].revision == 2
    # pods and taints of the controllers are no milestones, and the period is respected
    assert len(found) == 6
    assert texts(cluster, Period(since=cluster.now())) == []
    assert texts(cluster, Period(until=failure.at)) == ["alice: 6 nodes added"]


def test_a_drain_lasts_and_a_deleted_node_is_still_known(cluster: Cluster) -> None:
    create_pods(cluster, pod("web"))
    Engines().run(cluster.pk)
    arguments = {"node": "node-1", "force": True, "timeout": 1}
    started = service.start(
        "drain", "Drain node-1", cluster=cluster, arguments=arguments, actor=ALICE
    )
    running.run(started.pk)
    store.delete(cluster, kinds.NODE, "", "node-5", actor=ALICE)
    cluster.refresh_from_db()
    by_kind = {each.kind: each for each in read_milestones(cluster, Period()).milestones}
    drained = by_kind[MilestoneKind.DRAIN]
    assert drained.operation == started.pk and drained.until is not None
    assert by_kind[MilestoneKind.CORDON].text == "node-1 cordoned"
    assert by_kind[MilestoneKind.NODES_REMOVED].text == "node-5 removed"


def test_a_manual_clock_has_no_real_times(cluster: Cluster) -> None:
    clock.set_manual(cluster)
    clock.advance(cluster, 60)
    set_ready(cluster, "node-0", "Unknown")
    pause(cluster)
    cluster.refresh_from_db()
    period = Period(since=cluster.now() - timedelta(seconds=30))
    assert texts(cluster, period) == ["alice: node-0 failed"]
