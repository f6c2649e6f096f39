"""The cluster created at the first start contains pods in every state."""

from __future__ import annotations

from collections import Counter

import pytest
from django.core.management import call_command

from apps.cluster import kinds
from apps.cluster.models import Cluster, Event, Pod, Taint
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.engine.loop.engines import Engines
from apps.engine.models import QueueEntry

pytestmark = pytest.mark.django_db(transaction=True)

ACTOR = Actor("alice")
CLAIM = kinds.by_api_version("v1", "PersistentVolumeClaim")


def test_the_demo_has_zones_taints_and_pods_in_every_state() -> None:
    call_command("create_demo", verbosity=0)
    cluster = Cluster.objects.get(name="demo")
    Engines().run(cluster.pk)
    zones = {labels.get("topology.kubernetes.io/zone") for labels in _read_node_labels(cluster)}
    assert len(zones) >= 3
    assert Taint.objects.filter(node__cluster=cluster).exists()
    assert Pod.objects.filter(cluster=cluster).exclude(node_name="").count() >= 3
    queues = Counter(QueueEntry.objects.filter(cluster=cluster).values_list("queue", flat=True))
    assert {"gated", "unschedulable"} <= set(queues), queues
    assert Event.objects.filter(cluster=cluster, reason="Preempted").exists()


def test_a_claim_without_a_class_gets_a_volume() -> None:
    call_command("create_demo", verbosity=0)
    cluster = Cluster.objects.get(name="demo")
    claim = {
        "metadata": {"name": "data", "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    store.create(cluster, CLAIM, claim, actor=ACTOR, namespace="default")
    pod = {
        "metadata": {"name": "reader", "namespace": "default"},
        "spec": {
            "containers": [{"name": "main", "image": "example/main:1"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        },
    }
    store.create(cluster, kinds.POD, pod, actor=ACTOR, namespace="default")
    engines = Engines()
    for _ in range(5):
        engines.run(cluster.pk)
    assert Pod.objects.get(cluster=cluster, name="reader").node_name


def test_it_is_created_once() -> None:
    call_command("create_demo", verbosity=0)
    call_command("create_demo", verbosity=0)
    assert Cluster.objects.count() == 1


def _read_node_labels(cluster: Cluster) -> list[dict[str, str]]:
    return list(cluster.node_set.values_list("labels", flat=True))
