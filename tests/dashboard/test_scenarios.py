"""The pages of scenarios: starting one, its results, two runs side by side."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.administration.operations import running
from apps.engine.models import Operation
from tests.administration.clusters.test_imported_files import zipped
from tests.studies.scenarios.test_recorded_decisions import CONFIGURATION, THIRD, encode, lines

pytestmark = pytest.mark.django_db(transaction=True)

SCENARIO = """\
name: two-profiles
cluster:
  nodes: [{count: 2, cpu: 2}]
workloads:
  - {name: web, count: 3, requests: {cpu: "1"}}
  - {name: huge, count: 1, requests: {cpu: "9"}}
expectations:
  - {boundWithin: 1s, pods: {workload: web}}
  - {name: the huge pod fits, pending: {equals: 0}}
sweep:
  seeds: [1, 2]
"""


def test_scenario_is_started_run_and_shown(alice: Client) -> None:
    page = alice.get("/scenarios").content.decode()
    assert "No scenario has been run yet" in page and "failing zone" in page
    assert (
        "preemptionPolicy: Never"
        in alice.get("/scenarios?example=05-never-preempt").content.decode()
    )

    answer = alice.post("/scenarios", {"scenario": SCENARIO})
    operation = Operation.objects.get()
    assert answer.headers["Location"] == f"/scenarios/{operation.pk}"
    assert "waiting for a worker" in alice.get(f"/scenarios/{operation.pk}").content.decode()

    running.run(operation.pk)
    page = alice.get(f"/scenarios/{operation.pk}").content.decode()
    assert "0 of 2 runs passed" in page and "3 of 3 pods were bound within 1s" in page
    assert "the huge pod fits" in page and "1 pods are pending, = 0 is expected" in page
    assert "two-profiles" in alice.get("/scenarios").content.decode()

    compared = alice.get(f"/scenarios/compare?first={operation.pk}.0&second={operation.pk}.1")
    assert "Waiting time, p99" in compared.content.decode()
    same = alice.get(f"/scenarios/compare?first={operation.pk}.0&second={operation.pk}.0")
    assert "The same pods had the same nodes at the same times" in same.content.decode()


def test_scenario_with_mistakes_is_shown_again_with_its_lines(alice: Client) -> None:
    wrong = SCENARIO.replace("- {name: huge,", "- {name: huge, after: nothing,")
    answer = alice.post("/scenarios", {"scenario": wrong})
    page = answer.content.decode()
    assert answer.status_code == 422 and "no workload or operation is named" in page
    assert "workloads[1].after" in page and not Operation.objects.exists()


def test_recordings_are_uploaded_with_a_scenario_and_their_decisions_compared(
    alice: Client,
) -> None:
    text = """\
name: recorded
cluster: {imports: [{format: kube-scheduler-simulator, file: snapshot.json}]}
workloads: [{name: web, count: 1}]
expectations: [{boundWithin: 1s}]
"""
    snapshot = (
        b'{"nodes": [{"metadata": {"name": "n1"}, "status": {"allocatable": {"pods": "9"}}}]}'
    )
    files = [SimpleUploadedFile("snapshot.json", snapshot), SimpleUploadedFile("more", b"\xff")]
    alice.post("/scenarios", {"scenario": text, "recordings": files})
    operation = Operation.objects.get()
    running.run(operation.pk)
    assert "1 of 1 runs passed" in alice.get(f"/scenarios/{operation.pk}").content.decode()

    def post(record: bytes, configuration: str = "") -> Any:
        file = SimpleUploadedFile("record.jsonl", record)
        given = {"recording": file, "configuration": configuration}
        return alice.post("/recorded-decisions", given)

    assert "No file has been compared" in alice.get("/recorded-decisions").content.decode()
    for record, configuration, problem in (
        (b"", "", "submitted file is empty"),
        (b"{}", "", "no pod has the annotations of a recorded decision"),
        (b'{"time": 1}', "", "record.jsonl"),
        (lines(), "kind: Nothing", "the configuration"),
    ):
        refused = post(record, configuration)
        assert refused.status_code == 422 and problem in refused.content.decode()
    assert Operation.objects.count() == 1

    third = {**THIRD, "selected_node": "n3"}
    started = post(lines(third=third), encode(CONFIGURATION))
    number = Operation.objects.latest("id").pk
    assert started.headers["Location"] == f"/recorded-decisions/{number}"
    assert "waiting for a worker" in alice.get(f"/recorded-decisions/{number}").content.decode()
    running.run(number)
    page = alice.get(f"/recorded-decisions/{number}").content.decode()
    assert "1 of 3 decisions differ" in page and "default/third" in page
    assert "record.jsonl" in alice.get("/recorded-decisions").content.decode()
    body = {"recording": lines().decode(), "configuration": encode(CONFIGURATION)}
    answer = alice.post("/api/v1/recorded-decisions", body, content_type="application/json")
    assert answer.status_code == 202
    running.run(answer.json()["id"])
    output = alice.get(f"/api/v1/operations/{answer.json()['id']}/output").json()
    assert (output["decisions"], output["different"]) == (3, 0)
    assert alice.get("/recorded-decisions/7777").status_code == 404


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/scenarios/7777", 404),
        ("/scenarios/compare?first=x&second=1.0", 400),
        ("/scenarios/compare?first=7777.0&second=1.0", 404),
    ],
)
def test_unknown_runs_are_errors(alice: Client, path: str, status: int) -> None:
    assert alice.get(path).status_code == status


def test_runs_of_others_are_not_shown(alice: Client) -> None:
    bob = Client()
    bob.force_login(User.objects.create_user("bob"))
    alice.post("/scenarios", {"scenario": SCENARIO})
    number = Operation.objects.get().pk
    running.run(number)
    assert bob.get(f"/scenarios/{number}").status_code == 404
    assert bob.get(f"/scenarios/compare?first={number}.0&second={number}.1").status_code == 404
    assert "two-profiles" not in bob.get("/scenarios").content.decode()


def test_an_archive_of_a_dump_is_the_cluster_of_a_scenario_on_the_page_and_in_the_api(
    alice: Client,
) -> None:
    text = """\
name: from-a-dump
cluster: {imports: [{format: yaml, file: dump.zip}]}
expectations: [{running: {equals: 1}}]
"""
    node = b"""\
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {pods: "9"}}
"""
    pod = b"""\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec: {nodeName: n1, containers: [{name: c, image: i}]}
"""
    archive = zipped({"dump/nodes.yaml": node, "dump/default/pods.yaml": pod})

    def file() -> SimpleUploadedFile:
        return SimpleUploadedFile("dump.zip", archive)

    def passed() -> bool:
        operation = Operation.objects.latest("pk")
        running.run(operation.pk)
        page: str = alice.get(f"/scenarios/{operation.pk}").content.decode()
        return "1 of 1 runs passed" in page

    alice.post("/scenarios", {"scenario": text, "recordings": [file()]})
    assert passed()
    started = alice.post("/api/v1/scenarios", {"scenario": text, "f": file()})
    assert started.status_code == 202 and passed()
    twice = alice.post("/api/v1/scenarios", {"scenario": text, "f": file(), "g": file()})
    assert twice.status_code == 400 and "two files have the same name" in twice.content.decode()
    for unknown in ({"scenario": text, "seeds": "3"}, {"f": file()}):
        refused = alice.post("/api/v1/scenarios", unknown)
        field = "seeds" if "seeds" in unknown else "scenario"
        assert refused.status_code == 400 and refused.json()["causes"][0]["field"] == field
    assert Operation.objects.count() == 2
