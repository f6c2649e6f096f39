"""Pods that a Permit plugin holds, as the queue's page and the API show them."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster, Pod
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.engine.loop import clock
from apps.engine.loop.engines import Engines
from apps.engine.models import PermitWait
from apps.engine.profiles import revisions
from tests.dashboard.conftest import shown

pytestmark = pytest.mark.django_db(transaction=True)

START = datetime(2030, 1, 1, tzinfo=UTC)
CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: WaitForGroup}]}}
  pluginConfig: [{name: WaitForGroup, args: {timeoutSeconds: 30}}]
"""


def member(cluster: Cluster, name: str) -> None:
    labels = {"example.schedweb.dev/group": "ring", "example.schedweb.dev/group-size": "3"}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    body = {"metadata": {"name": name, "labels": labels}, "spec": spec}
    store.create(cluster, kinds.POD, body, actor=Actor("tests"), namespace="default")


def settle(engines: Engines, cluster: Cluster) -> None:
    while engines.run(cluster.pk):
        pass


@pytest.fixture
def cluster() -> Cluster:
    cluster = create_cluster("lab", user="tests", nodes=2, tie_break="first-name")
    Cluster.objects.filter(pk=cluster.pk).update(manual_time=START)
    cluster.refresh_from_db()
    revisions.add_revision(cluster, CONFIGURATION, user="tests")
    return cluster


@pytest.fixture
def alice() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("alice"))
    return client


def queue(alice: Client, query: str = "") -> Any:
    return alice.get(f"/api/v1/clusters/lab/queue{query}").json()


def test_a_group_waits_with_a_deadline_until_it_is_complete(
    alice: Client, cluster: Cluster
) -> None:
    engines = Engines()
    for name in ("a", "b"):
        member(cluster, name)
    settle(engines, cluster)
    page = shown(alice, "/clusters/lab/pods/default/a")
    assert "held at Permit by WaitForGroup" in page and "first attempt" not in page
    found = queue(alice)
    assert found["sizes"] == {
        "active": 0,
        "backoff": 0,
        "unschedulable": 0,
        "gated": 0,
        "permit": 2,
    }
    assert (found["scheduling_cycle"], found["total"]) == (2, 2)
    (first, _) = found["pods"]
    assert (first["queue"], first["held_by"]) == ("permit", ["WaitForGroup"])
    assert first["held_node"].startswith("node-") and first["attempts"] == 1
    assert datetime.fromisoformat(first["held_until"]) == START + timedelta(seconds=30)
    assert queue(alice, "?plugin=WaitForGroup&queue=permit")["total"] == 2
    assert queue(alice, "?queue=active")["total"] == 0
    page = shown(alice, "/clusters/lab/queue?queue=permit")
    assert "held by Permit" in page and "WaitForGroup" in page and "rejected in" in page
    assert "scheduling cycle 2" in " ".join(page.split())
    assert shown(alice, "/clusters/lab/pods").count("held by Permit") == 3
    assert "default/b" in shown(alice, "/clusters/lab/pods?state=permit")
    assert "default/b" not in shown(alice, "/clusters/lab/pods?state=active")
    overview = shown(alice, "/clusters/lab")
    assert '?queue=permit">2 held' in overview and '?queue=active">0 active' in overview
    member(cluster, "c")
    settle(engines, cluster)
    assert not PermitWait.objects.exists() and queue(alice)["total"] == 0
    assert not Pod.objects.filter(cluster=cluster, node_name="").exists()


def test_a_pod_whose_time_is_over_is_rejected_and_another_process_holds_it_again(
    alice: Client,
    cluster: Cluster,
    caplog: pytest.LogCaptureFixture,
    settings: Any,
) -> None:
    settings.VERBOSITY = 5
    caplog.set_level(logging.INFO, "kube-scheduler")
    member(cluster, "a")
    settle(Engines(), cluster)
    # a new process schedules it again, and its time begins again
    clock.advance(cluster, 20)
    engines = Engines()
    settle(engines, cluster)
    (again,) = queue(alice)["pods"]
    assert datetime.fromisoformat(again["held_until"]) >= START + timedelta(seconds=30)
    caplog.clear()
    clock.advance(cluster, 31)
    settle(engines, cluster)
    (rejected,) = queue(alice)["pods"]
    assert (rejected["queue"], rejected["held_by"]) == ("unschedulable", [])
    assert rejected["unschedulable_plugins"] == ["WaitForGroup"]
    assert not PermitWait.objects.exists()
    moves = [r for r in caplog.records if r.message == "Pod moved to an internal scheduling queue"]
    assert [record.fields for record in moves] == [  # type: ignore[attr-defined]
        {
            "cluster": "lab",
            "pod": "default/a",
            "event": "ScheduleAttemptFailure",
            "queue": "Unschedulable",
        }
    ]
    # the pod comes back as soon as others of its group wait, also in another process
    for process, name in ((engines, "b"), (Engines(), "c")):
        member(cluster, name)
        settle(process, cluster)
    assert queue(alice)["total"] == 0
    assert not Pod.objects.filter(cluster=cluster, node_name="").exists()
