"""The pages of scenarios: starting one, its results, two runs side by side."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.controlplane.models import Operation
from apps.controlplane.operations import running

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
