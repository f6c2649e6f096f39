"""Every list has the same pages: `page_size`, `cursor`, and addresses of those beside it."""

from __future__ import annotations

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

BIG = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100"}}}]}
#: a list -> the field of its response that has the rows
LISTS = {
    "/clusters/lab/queue?queue=all": "pods",
    "/clusters/lab/queue/past?at=now": "pods",
    "/clusters/lab/past/nodes?at=now": "nodes",
    "/clusters/lab/past/pods?at=now": "pods",
    "/clusters/lab/past/differences?from=1&to=now": "pods",
    "/clusters/lab/prospects?format=json": "pods",
    "/clusters/lab/decisions/aggregate?group=pod": "groups",
    "/clusters/lab/decisions?result=unschedulable": "results",
    "/clusters/lab/changes?kind=Pod": "results",
    "/clusters/lab/queue/history?pod=big*": "results",
    "/operations?cluster=lab": "results",
}


@pytest.fixture
def lab(api: Api, user: Any) -> Cluster:
    """Three nodes, three pods that fit on none, two operations."""
    cluster = create_cluster("lab", user=user.username, nodes=3, tie_break="first-name")
    bodies = [{**pod(f"big-{number}"), "spec": BIG} for number in range(3)]
    store.write(
        cluster,
        [Create(kinds.POD, body, "default") for body in bodies],
        actor=Actor("tests", "request-1"),
    )
    Engines().run(cluster.pk)
    api.post("/clusters/lab/exports", {})
    api.post("/clusters/lab/exports", {})
    return cluster


def walk(api: Api, first: str, rows: str) -> list[list[Any]]:
    """The rows of each page, from the first to the last one."""
    pages, address = [], f"/api/v1{first}"
    while address:
        page = api.client.get(address, headers=api.headers).json()
        pages.append(page[rows])
        if len(pages) > 1:
            back = api.client.get(page["previous"], headers=api.headers).json()
            assert back[rows] == pages[-2], first
        address = page["next"]
    return pages


def test_the_pages_of_every_list_have_its_rows_once_and_in_order(api: Api, lab: Cluster) -> None:
    for path, rows in LISTS.items():
        whole = api.get(path).json()
        assert whole["next"] is whole["previous"] is None and len(whole[rows]) > 1, path
        pages = walk(api, f"{path}&page_size=1", rows)
        assert [row for page in pages for row in page] == whole[rows], path
        assert all(len(page) == 1 for page in pages), path


def test_the_pages_of_a_past_moment_are_of_one_version(api: Api, lab: Cluster) -> None:
    first = api.get("/clusters/lab/past/pods?at=now&page_size=2").json()
    created = Create(kinds.POD, pod("a-later"), "default")
    store.write(lab, [created], actor=Actor("tests", "request-2"))
    second = api.client.get(first["next"], headers=api.headers).json()
    assert second["moment"]["version"] == first["moment"]["version"]
    names = [each["name"] for each in (*first["pods"], *second["pods"])]
    assert names == ["big-0", "big-1", "big-2"]


def test_a_page_that_does_not_exist_is_refused_by_name(api: Api, lab: Cluster) -> None:
    for path in LISTS:
        for given, told in (
            ("limit=1", "limit: unknown parameter; pages are selected with page_size"),
            ("offset=1", "offset: unknown parameter; pages are selected with cursor"),
            ("page_size=0", "page_size: '0' is not a whole number from 1 to "),
            ("page_size=many", "page_size: 'many' is not a whole number from 1 to "),
            ("cursor=there", "cursor: 'there' is no cursor of this list"),
        ):
            answer = api.get(f"{path}&{given}")
            assert answer.status_code == 400, (path, given)
            assert answer.json()["message"].startswith(told), (path, given)
