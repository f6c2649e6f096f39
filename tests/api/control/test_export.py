"""Exports of decisions in the API."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.engine.loop.engines import Engines
from tests.api.control.conftest import Api
from tests.api.objects import pod

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def lab(user: Any) -> Cluster:
    cluster = create_cluster("lab", user="tests", nodes=1)
    writes = [Create(kinds.POD, pod(name), "default") for name in ("a", "b")]
    store.write(cluster, writes, actor=Actor("tests"))
    Engines().run(cluster.pk)
    return cluster


def test_decisions_are_streamed_in_each_format(api: Api, lab: Cluster) -> None:
    for where in ("/clusters/lab/decisions", "/decisions"):
        answer = api.get(f"{where}/export?format=jsonl&pod=a")
        assert answer.streaming and answer["Content-Type"] == "application/jsonl"
        assert 'filename="decisions.jsonl"' in answer["Content-Disposition"]
        (row,) = map(json.loads, b"".join(answer.streaming_content).splitlines())
        assert (row["cluster"], row["name"], row["node"]) == ("lab", "a", "node-0")
    answer = api.get("/clusters/lab/decisions/export?limit=1")
    assert answer["Content-Type"] == "text/csv"
    assert len(b"".join(answer.streaming_content).splitlines()) == 2


def test_a_deleted_cluster_is_exported(api: Api, lab: Cluster) -> None:
    api.delete("/clusters/lab")
    answer = api.get(f"/history/clusters/{lab.pk}/decisions/export?format=jsonl")
    assert len(b"".join(answer.streaming_content).splitlines()) == 2


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/clusters/none/decisions/export", 404),
        ("/history/clusters/1/decisions/export", 404),
        ("/decisions/export?format=odd", 404),
        ("/decisions/export?result=odd", 400),
        ("/decisions/export?limit=x", 400),
    ],
)
def test_errors_are_json(api: Api, lab: Cluster, path: str, status: int) -> None:
    answer = api.get(path)
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/json"
    assert json.loads(answer.content)["message"]


def test_an_unauthenticated_export_is_401(anonymous: Api, lab: Cluster) -> None:
    assert anonymous.get("/decisions/export").status_code == 401


FORMULAS = ["=HYPERLINK(1)", "+1+cmd", "-2+3", "@SUM(1)", "\t=1", "\uff1d1"]


def test_no_cell_of_a_csv_file_is_a_formula(api: Api, lab: Cluster) -> None:
    involved = {"kind": "Pod", "name": "a", "namespace": "default"}
    events = [
        {"metadata": {"name": f"e{number}"}, "involvedObject": involved, "message": text}
        for number, text in enumerate([*FORMULAS, "-5"])
    ]
    writes = [Create(kinds.EVENT, event, "default") for event in events]
    store.write(lab, writes, actor=Actor("tests"))
    file = b"".join(api.get("/clusters/lab/events/export?format=csv").streaming_content).decode()
    messages = {row["message"] for row in csv.DictReader(io.StringIO(file, newline=""))}
    assert messages >= {"-5", *(f"'{text}" for text in FORMULAS)}
    assert not messages & set(FORMULAS)

    # an event that is seen again is the newest one, in the cluster and in its log
    seen = {"count": 2, "message": "again"}
    store.patch(
        lab, kinds.EVENT, "default", "e0", lambda body: {**body, **seen}, actor=Actor("tests")
    )
    for which in ("", "&expired=true"):
        newest = api.get(f"/clusters/lab/events?page_size=2{which}").json()["results"]
        assert [each["message"] for each in newest] == ["again", "-5"]
