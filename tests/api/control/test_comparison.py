"""Clusters side by side, over REST."""

from __future__ import annotations

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from tests.api.control.conftest import Api

pytestmark = pytest.mark.django_db


def test_clusters_are_compared_as_numbers(api: Api) -> None:
    create_cluster("small", user="alice", nodes=2, seed=1)
    create_cluster("large", user="alice", nodes=3, seed=1, tie_break="first-name")
    body = api.get("/compare-clusters?clusters=small,large").json()
    rows = {
        (section["title"], row["name"]): row
        for section in body["sections"]
        for row in section["rows"]
    }
    assert body["clusters"] == ["small", "large"]
    assert rows["State", "nodes"] == {"name": "nodes", "differs": True, "values": [2, 3]}
    pods = rows["Requested of allocatable", "pods"]
    assert [each["allocatable"] for each in pods["values"]] == [220, 330]
    assert rows["Settings", "Ties"]["differs"]
    shorter = api.get("/compare-clusters?clusters=small,large&differences=true").json()
    assert all(row["differs"] for section in shorter["sections"] for row in section["rows"])


@pytest.mark.parametrize(
    ("query", "status", "named"),
    [
        ("?clusters=small", 400, "clusters"),
        ("?clusters=small,small", 400, "clusters"),
        ("?cluster=small", 400, "cluster: unknown parameter"),
        ("?clusters=small,nowhere", 404, "nowhere"),
        ("?clusters=small,large&differences=maybe", 400, "differences"),
    ],
)
def test_errors_name_their_parameter(api: Api, query: str, status: int, named: str) -> None:
    create_cluster("small", user="alice")
    answer = api.get(f"/compare-clusters{query}")
    assert (answer.status_code, named in answer.json()["message"]) == (status, True)


def test_no_anonymous_comparison() -> None:
    assert Api().get("/compare-clusters?clusters=a,b").status_code == 401
