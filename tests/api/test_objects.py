"""Requests for one object that the web front answers without Django's middleware."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from apps.api import creation
from apps.cluster.log import announce
from apps.cluster.log.listen import listener
from apps.cluster.models import Change, Cluster
from schedweb.front.objects import ObjectsInThreads
from schedweb.front.threads import WsgiInThreads
from tests.api.conftest import Kube, encode
from tests.api.objects import PODS, node, pod
from tests.api.test_creation import do, same_for_all

pytestmark = pytest.mark.django_db(transaction=True)

NODES = "/api/v1/nodes"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
MERGE = {"content-type": "application/merge-patch+json"}
#: A uid or a time.
VOLATILE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z")
BINDING = {"target": {"kind": "Node", "name": "n1"}}

#: Method, path with {} for the name of the object, body, headers.
REQUESTS: list[tuple[str, str, Any, dict[str, str]]] = [
    ("GET", f"{PODS}/{{}}", None, {}),
    ("GET", f"{PODS}/{{}}", None, {"accept": TABLE}),
    ("GET", f"{PODS}/{{}}", None, {"accept": "application/yaml"}),
    ("GET", f"{PODS}/{{}}", None, {"accept": "image/png"}),
    ("GET", f"{PODS}/{{}}?resourceVersion=x", None, {}),
    ("GET", f"{PODS}/{{}}-absent", None, {}),
    ("GET", "/apis/scheduling.k8s.io/v1/priorityclasses/{}-absent", None, {}),
    ("GET", "/api/v1/namespaces/absent/pods/{}", None, {}),
    ("GET", f"{PODS}/{{}}/status", None, {}),
    ("GET", f"{PODS}/{{}}/log", None, {}),
    ("POST", f"{PODS}/{{}}", {}, {}),
    ("PATCH", f"{PODS}/{{}}", {"metadata": {"labels": {"a": "b"}}}, MERGE),
    ("PATCH", f"{PODS}/{{}}", {"spec": {"nodeName": "n1"}}, MERGE),
    ("PATCH", f"{PODS}/{{}}?dryRun=All", {"metadata": {"labels": {"c": "d"}}}, MERGE),
    ("PATCH", f"{PODS}/{{}}?fieldValidation=Strict", {"spec": {"nothing": 1}}, MERGE),
    ("PATCH", f"{PODS}/{{}}", {"spec": {"nothing": 1}}, MERGE),
    ("PATCH", f"{PODS}/{{}}", b"{", MERGE),
    ("PATCH", f"{PODS}/{{}}", {}, {"content-type": "text/plain"}),
    ("PUT", f"{PODS}/{{}}", {"metadata": {"name": "other"}}, {}),
    ("PATCH", f"{PODS}/{{}}/status", {"status": {"message": "hello"}}, MERGE),
    ("POST", f"{PODS}/{{}}/binding", BINDING, {}),
    ("POST", f"{PODS}/{{}}/binding", BINDING, {}),
    ("POST", f"{PODS}/{{}}/eviction", {"metadata": {"name": "x"}}, {}),
    ("DELETE", f"{PODS}/{{}}", {"preconditions": {"uid": "x"}}, {}),
    ("DELETE", f"{PODS}/{{}}", {"gracePeriodSeconds": 0}, {}),
    ("DELETE", f"{PODS}/{{}}", None, {}),
    ("GET", f"{NODES}/n1?bad=%00", None, {}),
    ("GET", f"{NODES}/n1", None, {"authorization": "Bearer wrong"}),
]


class ObjectClient:
    """Sends requests to the front; `passed_on` counts those that it leaves to Django."""

    def __init__(self, kube: Kube) -> None:
        self.kube = kube
        self.passed_on = 0
        self.threads = WsgiInThreads(self._django, threads=2)
        self._front = ObjectsInThreads(self.threads)

    async def send(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        raw = body if isinstance(body, bytes) else b"" if body is None else encode(body)
        sent = {
            "host": "localhost",
            "content-type": "application/json",
            "content-length": str(len(raw)),
            **self.kube.headers,
            **(headers or {}),
        }
        place, _, query = f"{self.kube.root}{path}".partition("?")
        scope = {
            "type": "http",
            "method": method,
            "scheme": "https",
            "http_version": "1.1",
            "path": place,
            "raw_path": place.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        }
        messages: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": raw, "more_body": False}

        async def send(message: Any) -> None:
            messages.append(message)

        await self._front(scope, receive, send)
        start, content = messages
        got = {name.decode(): value.decode() for name, value in start["headers"]}
        return start["status"], got, content["body"]

    def _django(self, environ: Any, start_response: Any) -> list[bytes]:
        self.passed_on += 1
        start_response("200 OK", [])
        return [b""]


@pytest.fixture
def front(kube: Kube) -> Iterator[ObjectClient]:
    client = ObjectClient(kube)
    yield client
    client.threads.close()


def play(scene: Any) -> Any:
    async def bounded() -> Any:
        try:
            async with asyncio.timeout(60):
                return await scene()
        finally:
            await creation.close()

    return asyncio.run(bounded())


def ask_django(kube: Kube, method: str, path: str, body: Any, headers: dict[str, str]) -> Any:
    content_type = headers.get("content-type", "application/json")
    others = {name: value for name, value in headers.items() if name != "content-type"}
    return kube.request(method, path, body, content_type=content_type, headers=others)


def comparable(body: bytes, name: str) -> Any:
    """A body without what differs between two objects."""
    text = VOLATILE.sub("VOLATILE", body.decode().replace(name, "NAME"))
    try:
        value = json.loads(text)
    except ValueError:
        return [line for line in text.splitlines() if "uid:" not in line and "Version:" not in line]
    if value.get("kind") == "Table":
        return value["columnDefinitions"]
    if value.get("kind") == "Status":
        value.get("details", {}).pop("uid", None)
        return value
    return same_for_all(value)


def test_answers_equal_those_of_the_django_view(front: ObjectClient, kube: Kube) -> None:
    kube.post(NODES, node("n1"))
    for name in ("aaaa", "bbbb"):
        assert kube.post(PODS, pod(name)).status_code == 201

    async def scene() -> None:
        for method, path, body, headers in REQUESTS:
            thin = await front.send(method, path.format("aaaa"), body, headers)
            django = await do(partial(ask_django, kube, method, path.format("bbbb"), body, headers))
            about = (method, path, body, thin[2])
            assert thin[0] == django.status_code, about
            assert thin[1].get("content-type") == django.headers.get("Content-Type"), about
            assert thin[1].get("warning") == django.headers.get("Warning"), about
            assert comparable(thin[2], "aaaa") == comparable(django.content, "bbbb"), about

    play(scene)
    assert front.passed_on == 0


def test_an_object_is_sent_without_spaces(front: ObjectClient, kube: Kube) -> None:
    text = 'a: "b", c'
    path = "/api/v1/namespaces/default/configmaps"
    kube.post(path, {"metadata": {"name": "c"}, "data": {"k": text}})
    _, _, body = play(lambda: front.send("GET", f"{path}/c"))
    assert body.endswith(b"}\n") and json.loads(body)["data"]["k"] == text
    assert b'"data":{"k":"' in body and b'"kind":"ConfigMap"' in body


def test_an_object_of_a_cluster_that_does_not_exist(front: ObjectClient, kube: Kube) -> None:
    kube.root = "/k8s/absent"
    status, _, body = play(lambda: front.send("GET", f"{PODS}/p"))
    assert (status, json.loads(body)["message"]) == (404, 'clusters "absent" not found')
    assert json.loads(body) == kube.get(f"{PODS}/p").json()


def test_a_request_has_an_id_and_a_user(front: ObjectClient, kube: Kube, cluster: Cluster) -> None:
    kube.post(PODS, pod("p"))

    async def scene() -> dict[str, str]:
        patch = {"metadata": {"labels": {"a": "b"}}}
        headers = {**MERGE, "x-request-id": "mine"}
        return (await front.send("PATCH", f"{PODS}/p", patch, headers))[1]

    assert play(scene)["x-request-id"] == "mine"
    change = Change.objects.filter(cluster=cluster).latest("version")
    assert (change.type, change.user, change.request_id) == ("MODIFIED", "alice", "mine")


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", PODS, {}),
        ("DELETE", PODS, {}),
        ("GET", "/version", {}),
        ("HEAD", f"{PODS}/p", {}),
        ("GET", f"{PODS}/p", {"host": "evil.example"}),
        ("GET", f"{PODS}/p", {"authorization": ""}),
        ("GET", f"{PODS}/p", {"authorization": "Basic abc"}),
        ("GET", f"{PODS}/é", {}),
    ],
)
def test_other_requests_are_passed_on(
    front: ObjectClient, method: str, path: str, headers: dict[str, str]
) -> None:
    play(lambda: front.send(method, path, None, headers))
    assert front.passed_on == 1


def test_threads_leave_announcements_to_the_event_loop(
    front: ObjectClient, kube: Kube, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    kube.post(PODS, pod("p"))
    by_threads: list[Any] = []
    notify = announce._notify

    def counted_notify(*arguments: Any) -> bool:
        by_threads.append(arguments)
        return notify(*arguments)

    monkeypatch.setattr(announce, "_notify", counted_notify)

    async def scene() -> tuple[int, int]:
        async with listener().subscribe(cluster.pk) as subscription:
            await subscription.wait(timeout=10)
            labels = {"metadata": {"labels": {"a": "b"}}}
            answer = json.loads((await front.send("PATCH", f"{PODS}/p", labels, MERGE))[2])
            version = int(answer["metadata"]["resourceVersion"])
            announced = 0
            while announced < version:
                announced = await subscription.wait(timeout=10) or version + 1
            return version, announced

    version, announced = play(scene)
    assert announced == version
    assert not by_threads
