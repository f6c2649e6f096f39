"""A cluster that was imported from another API server stays as it is."""

from __future__ import annotations

import copy
import gzip
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from apps.administration.clusters import manifests
from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor
from tests.controllers.conftest import Lab

#: When the dumps were written.
WRITTEN = datetime(2026, 11, 24, 17, 5, tzinfo=UTC)
#: Objects of these kinds may be in every cluster, created by it.
BUILT_IN = ("ServiceAccount", "ConfigMap", "Endpoints", "EndpointSlice", "Lease")
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
Body = dict[str, Any]
pytestmark = pytest.mark.django_db(transaction=True)

DATA = Path(__file__).with_name("data")
#: `kubectl get all,nodes -A -o yaml`, and the same with more kinds, of a cluster with
#: kube-scheduler and kube-controller-manager 1.36.2, after rollouts of all its workloads.
DUMPS = ("get-all", "get-more")


def read(name: str) -> str:
    return gzip.decompress((DATA / f"{name}.yaml.gz").read_bytes()).decode()


def key(body: Body) -> tuple[str, str, str]:
    metadata = body["metadata"]
    return body["kind"], metadata.get("namespace", ""), metadata["name"]


def differences(recorded: Any, found: Any, path: str = "") -> Iterator[str]:
    """What the dump says, and the cluster no longer; uids are new."""
    if isinstance(recorded, str) and UID.fullmatch(recorded):
        if not (isinstance(found, str) and UID.fullmatch(found)):
            yield f"{path}: {recorded} {found}"
    elif isinstance(recorded, dict) and isinstance(found, dict):
        for name, each in recorded.items():
            if f"{path}.{name}" not in (".metadata.resourceVersion", ".metadata.managedFields"):
                yield from differences(each, found.get(name), f"{path}.{name}")
    elif isinstance(recorded, list) and isinstance(found, list) and len(recorded) == len(found):
        for number, each in enumerate(recorded):
            yield from differences(each, found[number], f"{path}[{number}]")
    elif recorded != found:
        yield f"{path}: {recorded} {found}"


def is_compared(body: Body) -> bool:
    """Not what every cluster has, nor an autoscaler: there were no metrics when it was written."""
    if body["kind"] == "PriorityClass":
        return not body["metadata"]["name"].startswith("system-")
    return body["kind"] not in ("Namespace", "HorizontalPodAutoscaler") and key(body) != (
        "Service",
        "default",
        "kubernetes",
    )


def list_changes(lab: Lab, recorded: list[Body]) -> list[str]:
    """What differs between the dump and the cluster."""
    found = []
    for body in filter(is_compared, recorded):
        kind, namespace, name = key(body)
        stored = lab.get(kind, name, namespace)
        found += [f"{kind} {namespace}/{name} {each}" for each in differences(body, stored)]
    for kind in ("Node", "Pod", "ReplicaSet", "Job"):
        names = {key(each) for each in recorded if each["kind"] == kind}
        found += map(str, names ^ {key(each) for each in lab.all(kind)})
    return found


@pytest.mark.parametrize("dump", DUMPS)
def test_nothing_changes_in_an_imported_cluster_for_ten_minutes(lab: Lab, dump: str) -> None:
    Cluster.objects.filter(pk=lab.cluster.pk).update(manual_time=WRITTEN)
    recorded = yaml.load(read(dump), yaml.CSafeLoader)["items"]
    manifests.import_yaml(lab.cluster, read(dump), actor=Actor("alice"))
    assert list_changes(lab, recorded) == []
    for _ in range(10):
        lab.advance(60)
        assert list_changes(lab, recorded) == []


def test_an_imported_workload_rolls_out_when_its_template_changes(lab: Lab) -> None:
    Cluster.objects.filter(pk=lab.cluster.pk).update(manual_time=WRITTEN)
    manifests.import_yaml(lab.cluster, read("get-all"), actor=Actor("alice"))
    lab.settle()
    before = {each["metadata"]["name"] for each in lab.all("Pod")}

    def change(body: Body) -> Body:
        changed = copy.deepcopy(body)
        changed["spec"]["template"]["metadata"]["labels"]["changed"] = "yes"
        return changed

    lab.change("DaemonSet", "agent", change, "kube-system")
    lab.change("Deployment", "api", change, "shop")
    lab.change("StatefulSet", "db", change, "shop")
    for _ in range(12):
        lab.advance(30)
    assert sorted(before - {each["metadata"]["name"] for each in lab.all("Pod")}) == sorted(
        each for each in before if each.startswith(("agent-", "api-"))
    )
    changed = [each for each in lab.all("Pod") if "changed" in each["metadata"].get("labels", {})]
    assert len(changed) == 8 + 4 + 3
    assert lab.get("StatefulSet", "db", "shop")["status"]["updatedReplicas"] == 3


def test_an_export_is_imported_as_it_was(lab: Lab) -> None:
    Cluster.objects.filter(pk=lab.cluster.pk).update(manual_time=WRITTEN)
    manifests.import_yaml(lab.cluster, read("get-more"), actor=Actor("alice"))
    lab.advance(60)
    text = manifests.export_yaml(lab.cluster)
    other = Lab(create_cluster("copy", user="alice", paused=True))
    options = manifests.Options(keep_uids=True)
    manifests.import_yaml(other.cluster, text, actor=Actor("alice"), options=options)
    for body in filter(is_compared, yaml.load_all(text, yaml.CSafeLoader)):
        kind, namespace, name = key(body)
        stored = other.get(kind, name, namespace)
        assert stored["metadata"]["uid"] == body["metadata"]["uid"] or kind in BUILT_IN
        assert list(differences(body, stored)) == [], (kind, namespace, name)
