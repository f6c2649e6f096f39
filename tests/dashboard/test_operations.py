"""Creating clusters as an operation, and the pages of operations."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from apps.cluster.models import Cluster, Node
from apps.controlplane.models import Operation

pytestmark = pytest.mark.django_db

NAMED = {"name": "mine"}
DRAWN = {**NAMED, "tie_break": "random", "pod_max_in_unschedulable_pods_seconds": "300"}


def csv(name: str, text: str = "sn\n") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text.encode(), "text/csv")


@pytest.mark.parametrize(
    ("way", "fields", "kind", "title"),
    [
        ("yaml", {**DRAWN, "manifest": "{}"}, "create-from-yaml", "Create cluster mine from YAML"),
        ("copy", {**NAMED, "source": "lab"}, "copy", "Copy cluster lab as mine"),
        (
            "generated",
            {**DRAWN, "nodes": "2000", "zones": "3", "sizes": "4 8Gi"},
            "generate",
            "Create cluster mine of 2,000 nodes",
        ),
    ],
)
def test_creating_a_large_cluster_is_an_operation(
    alice: Client, lab: Cluster, way: str, fields: dict[str, Any], kind: str, title: str
) -> None:
    response = alice.post("/new-cluster", {"way": way, **fields})
    operation = Operation.objects.get()
    assert (operation.kind, operation.title, operation.user) == (kind, title, "alice")
    assert response.headers["Location"] == f"/operations/{operation.pk}"
    page = alice.get(f"/operations/{operation.pk}").content.decode()
    assert title in page and "waiting for a worker" in page
    assert title in alice.get("/").content.decode()


def test_a_long_import_is_an_operation(alice: Client, lab: Cluster) -> None:
    text = "# a comment\n" * 20_000
    response = alice.post("/clusters/lab/import", {"manifest": text})
    operation = Operation.objects.get()
    assert (operation.kind, operation.cluster) == ("import", lab)
    assert response.headers["Location"] == f"/operations/{operation.pk}"


def test_a_trace_is_uploaded_as_two_files(alice: Client) -> None:
    files = {"nodes_file": csv("n.csv"), "pods_file": csv("p.csv")}
    alice.post("/new-cluster", {"way": "trace", **DRAWN, **files})
    assert Operation.objects.get().kind == "create-from-trace"


@pytest.mark.parametrize(
    ("way", "fields", "problem"),
    [
        ("copy", {"name": "lab", "source": "lab"}, "already exists"),
        ("copy", {"name": "mine", "source": "nowhere"}, "not one of the available choices"),
        ("yaml", {**DRAWN, "name": "No", "manifest": "{}"}, "lower-case letters"),
        ("trace", DRAWN, "required"),
        ("generated", {**DRAWN, "nodes": "2", "zones": "1", "sizes": "4"}, "not of the form"),
        ("generated", {**DRAWN, "nodes": "2", "zones": "1", "sizes": "4 lots"}, "not a quantity"),
    ],
)
def test_a_cluster_that_cannot_be_created_shows_an_error_at_the_field(
    alice: Client, lab: Cluster, way: str, fields: dict[str, Any], problem: str
) -> None:
    response = alice.post("/new-cluster", {"way": way, **fields})
    assert (response.status_code, problem in response.content.decode()) == (422, True)
    assert not Operation.objects.exists()


def test_nodes_of_each_zone_cycle_through_the_sizes(alice: Client) -> None:
    sizes = {"nodes": "4", "zones": "2", "sizes": "4 8Gi\n64 256Gi 250"}
    alice.post("/new-cluster", {"way": "generated", **DRAWN, **sizes})
    nodes = Node.objects.filter(cluster__name="mine").order_by("name")
    found = [(n.labels["topology.kubernetes.io/zone"], n.allocatable["cpu"]) for n in nodes]
    assert found == [("zone-1", 4000), ("zone-2", 4000), ("zone-1", 64000), ("zone-2", 64000)]


def test_a_failed_operation_shows_its_cause_on_every_page(alice: Client, lab: Cluster) -> None:
    operation = Operation.objects.create(
        kind="export",
        title="Export lab",
        cluster=lab,
        state="failed",
        cause="the disk is full",
        user="alice",
        started_at=timezone.now(),
        finished_at=timezone.now(),
    )
    for path in ("/operations", f"/operations/{operation.pk}", "/clusters/lab"):
        assert "the disk is full" in alice.get(path).content.decode(), path
    assert "Export lab" not in alice.get("/operations?state=running").content.decode()
    assert alice.post(f"/operations/{operation.pk}/cancel").status_code == 409
    assert alice.get(f"/operations/{operation.pk}/output").status_code == 404
    assert alice.get("/operations/999999").status_code == 404


@pytest.mark.parametrize(
    ("address", "fields", "status"),
    [
        ("/clock", {"action": "advance", "by": "soon"}, 400),
        ("/clock", {"action": "advance", "by": "5m"}, 422),
        ("/clock", {"action": "backwards"}, 400),
        ("/switch", {"actor": "moon"}, 400),
    ],
)
def test_an_invalid_clock_or_switch_action_shows_an_error(
    alice: Client, lab: Cluster, address: str, fields: dict[str, str], status: int
) -> None:
    assert alice.post(f"/clusters/lab{address}", fields).status_code == status


def test_controllers_are_switched_off_and_the_clock_is_stopped(alice: Client, lab: Cluster) -> None:
    alice.post("/clusters/lab/switch", {"actor": "controllers", "on": "false"})
    alice.post("/clusters/lab/clock", {"action": "manual"})
    lab.refresh_from_db()
    assert not lab.controllers and lab.manual_time is not None
    page = alice.get("/clusters/lab").content.decode()
    assert "Advance" in page and "stopped" in page


def test_the_heat_map_is_compact_json(alice: Client, lab: Cluster) -> None:
    heat = alice.get("/clusters/lab/heat.json?by=kubernetes.io/os&resource=pods").json()
    assert heat["groups"] == [["linux", 4]]
    assert heat["names"] == ["gpu-1", "node-0", "node-1", "node-2"]
    assert heat["states"] == "0000" and len(heat["shares"]) == 4
    zones = alice.get("/clusters/lab/heat.json").json()
    assert [name for name, _ in zones["groups"]] == ["zone-1", "zone-2", "zone-3"]
