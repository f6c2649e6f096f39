"""Creating clusters as an operation, and the pages of operations."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from apps.administration.operations import service
from apps.cluster.models import Cluster, Node
from apps.engine.models import Operation

pytestmark = pytest.mark.django_db

NODE_ROWS = "sn,cpu_milli,memory_mib,gpu,model\nn0,1000,1,0,\n"
POD_ROWS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\np0,1,1,0,,,LS\n"
NAMED = {"name": "mine"}
DRAWN = {**NAMED, "tie_break": "random", "pod_max_in_unschedulable_pods_seconds": "300"}


def csv(name: str, text: str = "sn\n") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text.encode(), "text/csv")


@pytest.mark.parametrize(
    ("way", "fields", "kind", "title"),
    [
        (
            "yaml",
            {**DRAWN, "manifest": "# a comment\n" * 20_000},
            "create-from-yaml",
            "Create cluster mine from YAML",
        ),
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
    files = {"nodes_file": csv("n.csv", NODE_ROWS), "pods_file": csv("p.csv", POD_ROWS)}
    alice.post("/new-cluster", {"way": "trace", **DRAWN, **files})
    assert Operation.objects.get().kind == "create-from-trace"


def test_a_trace_with_errors_goes_back_to_the_form_and_keeps_the_files(alice: Client) -> None:
    wrong = NODE_ROWS + "n1,many,1,0,\nn2,1,few,0,\n"
    files = {"nodes_file": csv("n.csv", wrong), "pods_file": csv("p.csv", POD_ROWS)}
    answer = alice.post("/new-cluster", {"way": "trace", **DRAWN, "name": "Mine", **files})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "n.csv, line 3: column cpu_milli" in page and "n.csv, line 4: column memory_mib" in page
    assert "lower-case letters" in page, "the error of the name is shown as well"
    assert "<strong>p.csv</strong> is still attached" in page and POD_ROWS in page
    again = {"nodes_file": csv("n.csv", NODE_ROWS)}
    kept = {"pods_file_kept": "p.csv", "pods_file_text": POD_ROWS}
    alice.post("/new-cluster", {"way": "trace", **DRAWN, **again, **kept})
    assert service.upload_of(Operation.objects.get())["pods"] == ["p.csv", POD_ROWS]


def test_a_failed_operation_leads_back_to_its_form(alice: Client) -> None:
    files = {"nodes_file": csv("n.csv", NODE_ROWS), "pods_file": csv("p.csv", POD_ROWS)}
    choices = {**DRAWN, "tie_break": "first-name", "paused": "on"}
    alice.post("/new-cluster", {"way": "trace", **choices, **files})
    operation = Operation.objects.get()
    operation.state, operation.cause = "failed", "p.csv, line 2: pods p0 is invalid"
    operation.save()
    address = f"/new-cluster?again={operation.pk}"
    assert address in alice.get(f"/operations/{operation.pk}").content.decode()
    page = alice.get(address).content.decode()
    assert page.count("p.csv, line 2: pods p0 is invalid") == 1
    assert "<strong>n.csv</strong> is still attached" in page and 'value="mine"' in page
    assert '<option value="first-name" selected>' in page


def test_a_small_manifest_becomes_a_cluster_at_once_or_shows_every_error(alice: Client) -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
    wrong = f"{node}---\nkind: Nod\n---\n{node}spek: {{}}\n"
    answer = alice.post("/new-cluster", {"way": "yaml", **DRAWN, "manifest": wrong})
    page = answer.content.decode()
    assert answer.status_code == 422 and "Line 5: apiVersion is required" in page
    assert "Line 10: spek: unknown field" in page and "value=&quot;" not in page
    assert not Cluster.objects.filter(name="mine").exists()
    answer = alice.post("/new-cluster", {"way": "yaml", **DRAWN, "manifest": node})
    assert answer.headers["Location"] == "/clusters/mine"
    assert Node.objects.filter(cluster__name="mine", name="n1").exists()


@pytest.mark.parametrize(
    ("way", "fields", "problem"),
    [
        ("copy", {"name": "lab", "source": "lab"}, "already exists"),
        ("copy", {"name": "mine", "source": "nowhere"}, "not one of the available choices"),
        ("yaml", {**DRAWN, "name": "No", "manifest": "# none"}, "lower-case letters"),
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
    gpus = alice.get("/clusters/lab/heat.json?resource=example.com/gpu").json()
    assert [share < 0 for share in gpus["shares"]] == [name != "gpu-1" for name in gpus["names"]]
    assert "– no example.com/gpu" in alice.get("/clusters/lab?resource=example.com/gpu").text
    assert "– no cpu" not in alice.get("/clusters/lab").text
    zones = alice.get("/clusters/lab/heat.json").json()
    assert [name for name, _ in zones["groups"]] == ["zone-1", "zone-2", "zone-3"]
