"""Why a pod's PersistentVolumeClaims keep it from all nodes."""

from __future__ import annotations

from typing import Any

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster, Pod
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.studies.explanations.volume_claim_waits import describe_unbound_claims

pytestmark = pytest.mark.django_db

ACTOR = Actor("alice")


@pytest.fixture
def lab(db: None) -> Cluster:
    cluster = create_cluster("lab", user="alice")
    for name, mode, provisioner in [
        ("fast", "Immediate", "example.com/disks"),
        ("local", "Immediate", "kubernetes.io/no-provisioner"),
        ("late", "WaitForFirstConsumer", "example.com/disks"),
    ]:
        body = {
            "metadata": {"name": name},
            "provisioner": provisioner,
            "volumeBindingMode": mode,
        }
        store.create(cluster, kinds.by_name("StorageClass"), body, actor=ACTOR)
    return cluster


def explain(cluster: Cluster, claim: dict[str, Any] | None) -> str:
    if claim is not None:
        resources = {"requests": {"storage": "1Gi"}}
        spec = {"accessModes": ["ReadWriteOnce"], "resources": resources, **claim}
        body = {"metadata": {"name": "data"}, "spec": spec}
        kind = kinds.by_name("PersistentVolumeClaim")
        store.create(cluster, kind, body, actor=ACTOR, namespace="default")
    volume = {"name": "d", "persistentVolumeClaim": {"claimName": "data"}}
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
    body = {"metadata": {"name": "web"}, "spec": spec}
    store.create(cluster, kinds.POD, body, actor=ACTOR, namespace="default")
    return describe_unbound_claims(cluster, Pod.objects.get(cluster=cluster, name="web"))


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        (None, " does not exist."),
        ({}, " has no volume: it names no StorageClass, and the cluster has no default one."),
        (
            {"storageClassName": ""},
            " has no volume: no PersistentVolume without a StorageClass matches it.",
        ),
        (
            {"storageClassName": "gone"},
            " has no volume: its StorageClass gone does not exist.",
        ),
        (
            {"storageClassName": "fast"},
            " has no volume: it waits for one of StorageClass fast.",
        ),
        (
            {"storageClassName": "local"},
            " has no volume: no PersistentVolume of StorageClass local matches it.",
        ),
    ],
)
def test_a_claim_without_a_volume_says_why(
    lab: Cluster, claim: dict[str, Any] | None, why: str
) -> None:
    assert explain(lab, claim) == f"Its PersistentVolumeClaim data{why}"


@pytest.mark.parametrize("claim", [{"storageClassName": "late"}, {"volumeName": "disk-1"}])
def test_a_claim_that_does_not_hold_its_pod_is_not_named(
    lab: Cluster, claim: dict[str, Any]
) -> None:
    assert explain(lab, claim) == ""
