"""Watches: streams through the web front, with its authentication."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from apps.api.kubernetes.tables import row_of
from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.cluster.log.changelog import LoggedChange
from apps.cluster.models import Cluster
from tests.api.asgi import StreamClient, request_stream
from tests.api.conftest import Kube
from tests.api.objects import NODES, PODS, binding, node, pod

pytestmark = pytest.mark.django_db(transaction=True)

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def events(kube: Kube, path: str, accept: str = "application/json") -> list[dict[str, Any]]:
    """The events of a watch until its timeout."""
    separator = "&" if "?" in path else "?"
    address = f"{kube.root}{path}{separator}watch=1&timeoutSeconds=1"
    answer = asyncio.run(request_stream(address, {**kube.headers, "accept": accept}))
    assert answer[0] == 200, answer
    return [json.loads(line) for line in answer[2].splitlines()]


def received(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in found]


def version_of(kube: Kube, path: str = PODS) -> str:
    return str(kube.get(path).json()["metadata"]["resourceVersion"])


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(15):
            await scene()

    asyncio.run(bounded())


@sync_to_async(thread_sensitive=False)
def do(action: Callable[[], Any]) -> Any:
    """Send a request in a thread, which closes its connection."""
    try:
        return action()
    finally:
        connection.close()


def test_a_watch_starts_with_the_existing_objects(kube: Kube) -> None:
    kube.post(PODS, pod("p1"))
    assert received(events(kube, PODS)) == [("ADDED", "p1")]
    assert received(events(kube, f"{PODS}?resourceVersion=0")) == [("ADDED", "p1")]


def test_a_watch_from_a_version_sends_every_later_change_in_order(kube: Kube) -> None:
    kube.post(NODES, node("n1"))
    kube.post(PODS, pod("p0"))
    version = version_of(kube)
    kube.post(PODS, pod("p1"))
    kube.post(f"{PODS}/p1/binding", binding("p1", "n1"))
    kube.delete(f"{PODS}/p1?gracePeriodSeconds=0")
    found = events(kube, f"{PODS}?resourceVersion={version}")
    assert received(found)[:2] == [("ADDED", "p1"), ("MODIFIED", "p1")]
    assert received(found)[-1] == ("DELETED", "p1")
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in found]
    assert versions == sorted(versions)
    assert versions[0] > int(version)


def test_a_change_reaches_an_open_watch_at_once_as_its_text_in_the_log(
    kube: Kube, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decode(change: LoggedChange) -> dict[str, Any]:
        raise AssertionError(f"{change.kind} {change.name} was decoded")

    monkeypatch.setattr(LoggedChange, "object", property(decode))
    # without a version it would begin with the objects of a moment, which may be a later one
    path = f"{PODS}?watch=true&resourceVersion={version_of(kube)}"

    async def scene() -> None:
        stream = StreamClient(f"{kube.root}{path}", kube.headers)
        running = asyncio.ensure_future(stream.run())
        while stream.status == 0:
            await asyncio.sleep(0.01)
        created = await do(lambda: kube.post(PODS, pod("p1")))
        changed = await do(lambda: kube.patch(f"{PODS}/p1", {"metadata": {"labels": {"a": "1"}}}))
        assert (stream.status, created.status_code, changed.status_code) == (200, 201, 200)
        lines = await stream.lines(2)
        assert not any('": ' in str(line) for line in lines), "the API server sends no spaces"
        found = [json.loads(line) for line in lines]
        assert received(found) == [("ADDED", "p1"), ("MODIFIED", "p1")]
        assert found[1]["object"] == (await do(lambda: kube.get(f"{PODS}/p1"))).json()
        stream.leave()
        await running

    play(scene)


def test_watches_of_one_cluster_receive_the_same_changes_wherever_they_start(kube: Kube) -> None:
    version = version_of(kube)
    kube.post(PODS, pod("p0"))

    async def scene() -> None:
        paths = [f"{PODS}?watch=true", f"{PODS}?watch=true&resourceVersion={version}"]
        streams, running = [], []
        for path in [*paths, "/api/v1/pods?watch=true&labelSelector=a%3D1"]:
            streams.append(StreamClient(f"{kube.root}{path}", kube.headers))
            running.append(asyncio.ensure_future(streams[-1].run()))
            while streams[-1].status == 0:
                await asyncio.sleep(0.01)
            number = len(streams)
            await do(lambda number=number: kube.post(PODS, pod(f"p{number}")))
        await do(lambda: kube.patch(f"{PODS}/p0", {"metadata": {"labels": {"a": "1"}}}))
        for stream, expected in zip(streams, (5, 5, 1), strict=True):
            lines = [json.loads(line) for line in await stream.lines(expected)]
            changed = ("MODIFIED", "p0")
            added = [("ADDED", f"p{number}") for number in range(4)]
            assert received(lines) == ([*added, changed] if expected > 1 else [("ADDED", "p0")])
            stream.leave()
        await asyncio.gather(*running)

    play(scene)


def test_objects_enter_and_leave_a_selection(kube: Kube) -> None:
    version = version_of(kube)
    kube.post(PODS, pod("p1", labels={"group": "in"}))
    for group, note in (("out", "1"), ("out", "2"), ("in", "3")):
        kube.patch(f"{PODS}/p1", {"metadata": {"labels": {"group": group, "note": note}}})
    found = events(kube, f"{PODS}?labelSelector=group%3Din&resourceVersion={version}")
    assert [event["type"] for event in found] == ["ADDED", "DELETED", "ADDED"]
    left = found[1]["object"]["metadata"]
    assert left["labels"] == {"group": "in"}
    assert int(left["resourceVersion"]) > int(found[0]["object"]["metadata"]["resourceVersion"])


def test_a_watch_is_limited_to_its_namespace_and_object(kube: Kube) -> None:
    kube.post("/api/v1/namespaces", {"metadata": {"name": "team"}})
    kube.post(PODS, pod("here"))
    kube.post("/api/v1/namespaces/team/pods", pod("there"))
    assert received(events(kube, "/api/v1/namespaces/team/pods")) == [("ADDED", "there")]
    assert len(events(kube, "/api/v1/pods")) == 2
    assert received(events(kube, f"{PODS}?fieldSelector=metadata.name%3Dhere")) == [
        ("ADDED", "here")
    ]
    assert received(events(kube, "/api/v1/watch/namespaces/default/pods")) == [("ADDED", "here")]
    assert received(events(kube, "/api/v1/watch/namespaces/default/pods/none")) == []


def test_initial_events_end_with_a_bookmark(kube: Kube) -> None:
    kube.post(PODS, pod("p1"))
    query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    found = events(kube, f"{PODS}?{query}")
    assert [event["type"] for event in found] == ["ADDED", "BOOKMARK"]
    mark = found[1]["object"]
    assert (mark["kind"], mark["apiVersion"]) == ("Pod", "v1")
    assert mark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    none = events(kube, f"{PODS}?sendInitialEvents=false&resourceVersionMatch=NotOlderThan")
    assert none == []


def test_a_watch_from_a_version_that_is_not_retained_has_expired(
    kube: Kube, cluster: Cluster
) -> None:
    version = version_of(kube)
    kube.post(PODS, pod("p1"))
    Cluster.objects.update(forgotten_version=10**6)
    (event,) = events(kube, f"{PODS}?resourceVersion={version}")
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")


def test_a_watch_can_be_a_table(kube: Kube) -> None:
    kube.post(PODS, pod("p1"))
    kube.post(PODS, pod("p2"))
    first, second = events(kube, PODS, TABLE)
    assert first["object"]["columnDefinitions"]
    assert second["object"]["columnDefinitions"] is None
    assert second["object"]["rows"][0]["cells"][0] == "p2"


def test_a_watch_of_one_object_by_its_path_is_a_read(kube: Kube) -> None:
    kube.post(PODS, pod("p1"))
    address = f"{kube.root}{PODS}/p1?watch=1"
    status, _, body = asyncio.run(request_stream(address, kube.headers))
    assert (status, json.loads(body)["metadata"]["name"]) == (200, "p1")


@pytest.mark.parametrize(
    ("path", "status", "told_"),
    [
        (f"{PODS}?timeoutSeconds=abc", 400, "strconv.ParseInt"),
        (f"{PODS}?sendInitialEvents=true", 422, "resourceVersionMatch"),
        (f"{PODS}?resourceVersion=abc", 400, "resourceVersion"),
        (f"{PODS}?labelSelector=a+b", 400, "unable to parse requirement"),
        ("/api/v1/namespaces/default/widgets?", 404, "could not find the requested resource"),
    ],
)
def test_a_wrong_watch_is_refused(kube: Kube, path: str, status: int, told_: str) -> None:
    address = f"{kube.root}{path}&watch=1"
    answer = asyncio.run(request_stream(address, kube.headers))
    assert answer[0] == status
    assert told_ in json.loads(answer[2])["message"]


@pytest.mark.parametrize(
    ("query", "status"),
    [("timeoutSeconds=1", 200), ("resourceVersion=0&sendInitialEvents=true", 422)],
)
def test_a_watch_of_a_deprecated_kind_has_its_warning(kube: Kube, query: str, status: int) -> None:
    path = f"{kube.root}/api/v1/namespaces/default/endpoints?watch=1&{query}"
    answer = asyncio.run(request_stream(path, kube.headers))
    assert answer[0] == status
    headers = {name.lower(): value for name, value in answer[1].items()}
    assert "v1 Endpoints is deprecated in v1.33+" in headers["warning"]


def test_an_anonymous_request_watches_nothing(anonymous: Kube, kube: Kube, key: str) -> None:
    kube.post(PODS, pod("p1"))
    for headers in ({}, {"authorization": "Bearer nobody"}, {"cookie": "sessionid=nobody"}):
        status, _, body = asyncio.run(request_stream(f"{kube.root}{PODS}?watch=1", headers))
        assert (status, json.loads(body)["reason"]) == (401, "Unauthorized")
    nowhere = asyncio.run(request_stream(f"/k8s/nowhere{PODS}?watch=1", kube.headers))
    assert nowhere[0] == 404


def test_a_disconnected_client_ends_the_stream(kube: Kube) -> None:
    async def scene() -> None:
        stream = StreamClient(f"{kube.root}{PODS}?watch=true", kube.headers)
        running = asyncio.ensure_future(stream.run())
        while stream.status == 0:
            await asyncio.sleep(0.01)
        stream.leave()
        await running

    play(scene)


def test_bookmarks_have_the_form_of_the_other_events(kube: Kube) -> None:
    initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    form = "application/json;as={};v=v1;g=meta.k8s.io"
    roles = (
        f"/apis/rbac.authorization.k8s.io/v1/rolebindings?{initial}&fieldSelector=metadata.name=x"
    )
    (bookmark,) = events(kube, roles, accept=form.format("Table"))
    assert (bookmark["type"], bookmark["object"]["kind"]) == ("BOOKMARK", "Table")
    (row,) = bookmark["object"]["rows"]
    assert row["cells"][:3] == ["", "/", "<unknown>"]
    assert row["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}

    path = f"/api/v1/namespaces?{initial}"
    *_, last = events(kube, path, accept=form.format("PartialObjectMetadata"))
    assert (last["type"], last["object"]["kind"]) == ("BOOKMARK", "PartialObjectMetadata")
    # of a list there are no events
    assert events(kube, path, accept=form.format("PartialObjectMetadataList")) == []
    assert events(kube, "/api/v1/namespaces?timeoutSeconds=-1") == []


@pytest.mark.parametrize("kind", kinds.ALL, ids=lambda kind: kind.name)
def test_a_bookmark_of_any_kind_has_a_row(kind: Kind) -> None:
    bookmark = {"kind": kind.name, "metadata": {"resourceVersion": "1"}}
    cells = row_of(kind, "Metadata", "v1", datetime.now(UTC))(bookmark)["cells"]
    assert len(cells) == len(kind.columns)
