"""A decision whose node came from a batch is recorded with it, recomputed, and says so."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.writes import Create
from apps.cluster.writing import store
from apps.engine.ledger.reading import read
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from apps.engine.results.presenting import Batch, read_results
from apps.studies import rebuilding
from tests.engine.driving import ACTOR, configure, create_pods, pod
from tests.scheduler.test_batches import UNSPREAD

pytestmark = pytest.mark.django_db(transaction=True)

PREFERRED = [
    {
        "weight": weight,
        "preference": {
            "matchExpressions": [{"key": "name", "operator": "In", "values": [node]}],
        },
    }
    for node, weight in (("a", 100), ("b", 10))
]
AFFINITY = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": PREFERRED}}


def test_a_batched_decision_is_recorded_and_recomputed(client: Client) -> None:
    client.force_login(User.objects.create_superuser("alice", password="a long password"))
    cluster = create_cluster("lab", user="tests", kubelet=False, tie_break="first-name")
    configure(cluster, **UNSPREAD)
    nodes = [
        {
            "metadata": {"name": name, "labels": {"name": name}},
            "status": {
                "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        for name, cpu in (("a", "4"), ("b", "4"), ("c", "64"))
    ]
    store.write(cluster, [Create(kinds.NODE, node) for node in nodes], actor=ACTOR)
    create_pods(cluster, *(pod(f"p{number}", cpu="3", affinity=AFFINITY) for number in range(3)))
    engines = Engines()
    engines.run(cluster.pk)
    engines.close()
    rows = list(SchedulingDecision.objects.filter(cluster=cluster).order_by("id"))
    assert [row.node for row in rows] == ["a", "c", "b"]
    first, batched, _ = rows
    decision = read(batched).decision
    assert decision.is_batched and batched.total_score is None
    expected = Batch("c", True, "default/p0", str(first.pod_uid), 1)
    assert read_results(decision).search.batch == expected
    page = " ".join(client.get(f"/clusters/lab/decisions/{batched.pk}").content.decode().split())
    assert "The node comes from a batch: the pod is like default/p0" in page
    link = f'<a href="/clusters/lab/decisions/{first.pk}">decision <span title="{first.pk}">'
    assert link in page
    for row in rows:
        assert rebuilding.compare(read(row).decision, rebuilding.recompute(row)) == []
