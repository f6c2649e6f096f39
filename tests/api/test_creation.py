"""Objects created on the event loop of the web front, concurrent requests in one commit."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import uuid
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from asgiref.sync import sync_to_async
from django.db import connection, transaction
from django.test import Client
from uvicorn.server import ServerState

from apps.api import creation
from apps.api.creator import KEY_SECONDS
from apps.cluster.models import Change, Cluster, Event, Node, Pod, Taint
from apps.engine.loop import clock
from apps.engine.profiles import revisions
from apps.people.models import AccessToken
from schedweb.front.asgi import respond
from schedweb.front.cluster_roots import ClusterRoots
from schedweb.front.direct_creation import DirectProtocol
from schedweb.front.server import uvicorn_config
from schedweb.front.streams import Front
from tests.api.conftest import Kube, encode
from tests.api.objects import PODS, pod
from tests.cluster.writing.drawing import draw_names
from tests.stack.running_site import alive, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

DATA = Path(__file__).parent / "data"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
#: The end of a generated name.
GENERATED = re.compile(r"-?[_-][bcdfghjklmnpqrstvwxz2456789]{5}\b")
#: Different for every object, or for every moment.
VOLATILE = ("uid", "creationTimestamp", "managedFields", "resourceVersion", "name")


class Connection(asyncio.Transport):
    """A client's connection to the front, whose protocol writes to it."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__()
        self._answers: asyncio.Queue[bytes] = asyncio.Queue()
        self._sent = b""
        self.closed = False
        self._protocol = DirectProtocol(config=config, server_state=ServerState(), app_state={})
        self._protocol.connection_made(self)

    async def request(self, *pieces: bytes) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the response to what arrives in pieces."""
        self.send(*pieces)
        head, _, body = (await self._answers.get()).partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(": ") for line in lines)
        return int(first.split()[1]), {name: value for name, _, value in pairs}, body

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self._protocol.data_received(piece)

    def lose(self) -> None:
        """The client is gone."""
        self._protocol.connection_lost(None)

    def write(self, data: bytes | bytearray | memoryview[int]) -> None:
        self._sent += data
        head, end, body = self._sent.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        if end and length is not None and len(body) == int(length[1]):
            self._answers.put_nowait(self._sent)
            self._sent = b""

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


class CreationClient:
    """POSTs to the front; `passed_on` counts those that it leaves to Django."""

    def __init__(self, kube: Kube) -> None:
        self.kube = kube
        self.passed_on = 0
        self._config = uvicorn_config(ClusterRoots(Front(self._pass_on), ["localhost"]))
        self._config.load()
        self._idle: list[Connection] = []

    async def post(
        self, path: str, body: Any, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], Any]:
        """Status, headers and JSON body of the response."""
        connection = self._idle.pop() if self._idle else Connection(self._config)
        status, got, content = await connection.request(self.text(path, body, headers))
        self._idle.append(connection)
        return status, got, json.loads(content) if content else None

    def text(self, path: str, body: Any, headers: dict[str, str] | None = None) -> bytes:
        """The request as it is sent."""
        raw = encode(body)
        sent = {
            "host": "localhost",
            "content-type": "application/json",
            "content-length": str(len(raw)),
            **self.kube.headers,
            **(headers or {}),
        }
        lines = [f"POST {self.kube.root}{path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in sent.items()]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + raw

    def connect(self) -> Connection:
        """A connection of its own, for a request that arrives in pieces."""
        return Connection(self._config)

    async def _pass_on(self, scope: Any, receive: Any, send: Any) -> None:
        self.passed_on += 1
        assert (await receive())["more_body"] is False
        await respond(send, 204, b"")


@pytest.fixture
def front(kube: Kube) -> CreationClient:
    return CreationClient(kube)


def play(scene: Callable[[], Awaitable[Any]]) -> Any:
    async def bounded() -> Any:
        try:
            async with asyncio.timeout(30):
                return await scene()
        finally:
            await creation.close()

    return asyncio.run(bounded())


@sync_to_async(thread_sensitive=False)
def do(action: Callable[[], Any]) -> Any:
    """Something on Django's side, in a thread that leaves no connection behind."""
    try:
        return action()
    finally:
        connection.close()


def test_the_response_is_the_stored_pod(front: CreationClient, cluster: Cluster) -> None:
    status, headers, body = play(lambda: front.post(PODS, pod("p1"), {"x-request-id": "mine"}))
    assert (status, headers["content-type"]) == (201, "application/json")
    assert headers["x-request-id"] == "mine"
    row = Pod.objects.get(cluster=cluster, name="p1")
    change = Change.objects.get(cluster=cluster, uid=row.uid)
    assert row.body == body == change.object
    assert int(body["metadata"]["resourceVersion"]) == row.resource_version == change.version
    assert (change.type, change.user, change.request_id) == ("ADDED", "alice", "mine")
    cluster.refresh_from_db()
    assert cluster.resource_version == change.version
    assert cluster.due_at is not None


def test_requests_in_pieces_and_one_after_the_other(front: CreationClient) -> None:
    async def scene() -> None:
        for known in range(2):
            client = front.connect()
            first = front.text(PODS, pod(f"first{known}"))
            assert (await client.request(first[:50], first[50:-20], first[-20:]))[0] == 201
            # two in one piece: the second one waits for the response of the first one
            names = [f"second{known}", f"second{known}", f"third{known}"]
            texts = [front.text(PODS, pod(name)) for name in names]
            answers = [
                await client.request(b"".join(texts)),
                *[await client.request() for _ in "12"],
            ]
            assert [status for status, _, _ in answers] == [201, 409, 201]
            assert json.loads(answers[2][2])["metadata"]["name"] == names[2]
            last = front.text(PODS, pod(f"last{known}"), {"connection": "close"})
            assert (await client.request(last))[1]["connection"] == "close"
            assert client.closed

    play(scene)


def test_a_client_that_is_gone_gets_no_response(front: CreationClient) -> None:
    async def scene() -> None:
        assert (await front.post(PODS, pod("p1")))[0] == 201
        gone, partly = front.connect(), front.connect()
        text = front.text(PODS, pod("p2"))
        partly.send(text[:-1])
        partly.lose()
        gone.send(text)
        gone.lose()
        while not await do(lambda: Pod.objects.filter(name="p2").exists()):
            await asyncio.sleep(0.01)
        assert (await front.post(PODS, pod("p2")))[0] == 409

    play(scene)


def test_fields_that_are_unknown_or_occur_twice_have_warnings(front: CreationClient) -> None:
    async def scene() -> None:
        for name in "ab":
            assert "warning" not in (await front.post(PODS, pod(name)))[1]
        text = encode(pod("third")).decode()
        twice = text.replace('"name":"third"', '"name":"x","name":"third"')
        _, headers, body = await front.post(PODS, twice)
        assert headers["warning"] == '299 - "duplicate field \\"metadata.name\\""'
        assert body["metadata"]["name"] == "third"
        unknown = text.replace('"name":"third"', '"name":"fourth","shape":"round"')
        _, headers, body = await front.post(PODS, unknown)
        assert headers["warning"] == '299 - "unknown field \\"metadata.shape\\""'
        assert "shape" not in body["metadata"]
        status, _, body = await front.post(f"{PODS}?fieldValidation=Strict", unknown)
        assert (status, body["reason"]) == (400, "BadRequest")

    play(scene)


def recorded_pods() -> list[dict[str, Any]]:
    """Every body that a recorded scenario POSTs as a pod."""
    found = []
    for name in ("12_pod_validation.jsonl", "14_defaulting.jsonl", "03_names_namespaces.jsonl"):
        for line in (DATA / name).read_text().splitlines():
            step = json.loads(line)
            if step["method"] == "POST" and step["path"].endswith("/pods") and step.get("body"):
                found.append(step["body"])
    return found


def same_for_all(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without what differs from object to object."""
    if "metadata" in answer:
        kept = {k: v for k, v in answer["metadata"].items() if k not in VOLATILE}
        answer = {**answer, "metadata": kept}
    return answer


def test_responses_equal_those_of_the_django_view(front: CreationClient, kube: Kube) -> None:
    async def scene() -> int:
        compared = 0
        for number, body in enumerate(recorded_pods()):
            kinds = ("a", "b")
            both = []
            for way in kinds:
                sent = json.loads(json.dumps(body))
                metadata = sent.get("metadata")
                if isinstance(metadata, dict):
                    metadata.pop("namespace", None)
                    if isinstance(metadata.get("name"), str) and metadata["name"].islower():
                        metadata["name"] = f"{way}{number}"
                both.append(sent)
            thin = await front.post(PODS, both[0])
            django = await do(lambda sent=both[1]: kube.post(PODS, sent))
            assert thin[0] == django.status_code, body
            expected = django.json()
            if thin[0] == 201:
                assert same_for_all(thin[2]) == same_for_all(expected)
            else:
                # the generated part first: it may contain the name
                text = GENERATED.sub("-", json.dumps(expected)).replace(f"b{number}", f"a{number}")
                assert GENERATED.sub("-", json.dumps(thin[2])) == text
            assert thin[1].get("warning") == django.headers.get("Warning")
            compared += 1
        return compared

    assert play(scene) > 60
    assert front.passed_on == 0


def test_concurrent_creations_share_commits(front: CreationClient, cluster: Cluster) -> None:
    async def scene() -> None:
        await front.post(PODS, pod("first"))
        answers = await asyncio.gather(*(front.post(PODS, pod(f"p{n}")) for n in range(60)))
        assert {status for status, _, _ in answers} == {201}

    play(scene)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*), count(DISTINCT xmin::text), count(DISTINCT version), "
            "max(version) - min(version) FROM cluster_change "
            "WHERE cluster_id = %s AND kind = 'Pod'",
            [cluster.pk],
        )
        changes, transactions, versions, span = cursor.fetchone()
    assert (changes, versions, span) == (61, 61, 60)
    assert transactions <= 5
    created = Pod.objects.filter(cluster=cluster).order_by("resource_version")
    times = list(created.values_list("created_at", flat=True))
    assert times == sorted(set(times))
    assert [row.body["metadata"]["resourceVersion"] for row in created] == [
        str(row.resource_version) for row in created
    ]


def test_one_of_two_with_the_same_name_is_refused(front: CreationClient, cluster: Cluster) -> None:
    names = ["a", "b", "a", "c", "b", "a"]

    async def scene() -> list[tuple[str, int]]:
        answers = await asyncio.gather(*(front.post(PODS, pod(name)) for name in names))
        refused = next(body for status, _, body in answers if status == 409)
        assert refused["reason"] == "AlreadyExists"
        assert refused["message"] in {f'pods "{name}" already exists' for name in "ab"}
        return sorted(zip(names, [status for status, _, _ in answers], strict=True))

    assert play(scene) == [("a", 201), ("a", 409), ("a", 409), ("b", 201), ("b", 409), ("c", 201)]
    assert sorted(Pod.objects.values_list("name", flat=True)) == ["a", "b", "c"]


def test_a_generated_name_that_exists_is_drawn_again(
    front: CreationClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {**pod("p"), "metadata": {"generateName": "web-"}}

    async def created() -> list[str]:
        answers = [await front.post(PODS, body) for _ in range(2)]
        return [answer["metadata"]["name"] for _, _, answer in answers]

    draw_names(monkeypatch, "bbc")
    assert play(created) == ["web-bbbbb", "web-ccccc"]
    assert front.passed_on == 0


def test_an_existing_name_does_not_delay_other_creations(front: CreationClient, kube: Kube) -> None:
    kube.post(PODS, pod("there"))

    async def scene() -> list[int]:
        names = ["x", "there", "y"]
        return [
            each[0] for each in await asyncio.gather(*(front.post(PODS, pod(n)) for n in names))
        ]

    assert play(scene) == [201, 409, 201]


def test_admission_uses_current_classes_and_namespaces(front: CreationClient, kube: Kube) -> None:
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
        "globalDefault": True,
    }

    async def scene() -> None:
        _, _, before = await front.post(PODS, pod("before"))
        assert before["spec"]["priority"] == 0
        await do(lambda: kube.post("/apis/scheduling.k8s.io/v1/priorityclasses", high))
        _, _, after = await front.post(PODS, pod("after"))
        assert after["spec"]["priority"] == 1000
        assert after["spec"]["priorityClassName"] == "high"
        space = "/api/v1/namespaces/other/pods"
        assert (await front.post(space, pod("p")))[0] == 404
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
        await do(lambda: kube.post("/api/v1/namespaces", body))
        assert (await front.post(space, pod("p")))[0] == 201

    play(scene)


def test_a_changed_admission_plugin_takes_effect_immediately(
    front: CreationClient, cluster: Cluster
) -> None:
    limited = {"LimitPodHardAntiAffinityTopology": {}}
    term = {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "zone"}
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    async def scene() -> None:
        assert (await front.post(PODS, pod("p1", affinity=rule)))[0] == 201
        await do(lambda: Cluster.objects.update(admission_plugins=limited))
        assert (await front.post(PODS, pod("p2", affinity=rule)))[0] == 403

    play(scene)


def test_nothing_is_created_in_a_deleted_cluster(front: CreationClient, cluster: Cluster) -> None:
    from apps.administration.clusters.lifecycle import create_cluster, delete_cluster

    async def scene() -> None:
        assert (await front.post(PODS, pod("p1")))[0] == 201
        await do(lambda: delete_cluster(cluster))
        assert (await front.post(PODS, pod("p2")))[0] == 404
        await do(lambda: create_cluster("c1", user="alice"))
        assert (await front.post(PODS, pod("p1")))[0] == 201

    play(scene)


def test_other_requests_are_passed_on_to_django(
    front: CreationClient, kube: Kube, cluster: Cluster
) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": {"pods": "1"}},
    }

    async def scene() -> None:
        await front.post(PODS, pod("p1"))
        assert front.passed_on == 0
        await front.post(f"{PODS}?dryRun=All", pod("p2"))
        await front.post(PODS, pod("p3"), {"accept": TABLE})
        await front.post("/api/v1/namespaces", {"metadata": {"name": "other"}})
        await front.post(PODS, pod("p4"), {"authorization": "Basic abc"})
        await front.post(PODS, pod("p5", nodeName="x" * 70_000))
        await front.post(PODS, pod("p9"), {"idempotency-key": "order-66"})
        # the server accepts the names of a definition after it has written it
        await front.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {})
        assert front.passed_on == 7
        await do(lambda: clock.set_manual(cluster))
        await front.post(PODS, pod("p6"))
        await do(lambda: clock.set_real(cluster))
        assert (await front.post(PODS, pod("p7")))[0] == 201
        await do(lambda: kube.post("/api/v1/namespaces/default/resourcequotas", quota))
        await front.post(PODS, pod("p8"))
        assert front.passed_on == 9

    play(scene)
    assert sorted(Pod.objects.values_list("name", flat=True)) == ["p1", "p7"]


def test_nodes_and_events_equal_those_of_the_django_view(
    front: CreationClient, kube: Kube, cluster: Cluster
) -> None:
    taints = [
        {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"},
        {"key": "slow", "effect": "NoExecute", "timeAdded": "2026-01-02T03:04:05Z"},
    ]
    ready = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "4"}}
    nodes = [{}, {"spec": {"taints": taints}}, {"status": ready}]
    event = {
        "metadata": {"namespace": "default"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p", "uid": "u"},
        "reason": "Scheduled",
    }
    bodies = [("/api/v1/nodes", each) for each in nodes]
    bodies.append(("/api/v1/namespaces/default/events", event))

    async def scene() -> None:
        for number, (path, body) in enumerate(bodies):
            both = [
                {**body, "metadata": {**body.get("metadata", {}), "name": f"{way}{number}"}}
                for way in "ab"
            ]
            thin = await front.post(path, both[0])
            django = await do(lambda path=path, sent=both[1]: kube.post(path, sent))
            assert (thin[0], django.status_code) == (201, 201)
            assert same_for_all(thin[2]) == same_for_all(django.json())

    play(scene)
    assert front.passed_on == 0
    for number in range(len(nodes)):
        rows = [
            list(
                Taint.objects.filter(node__cluster=cluster, node__name=name).values_list(
                    "position", "key", "value", "effect", "time_added"
                )
            )
            for name in (f"a{number}", f"b{number}")
        ]
        assert rows[0] == rows[1]
        projected = [
            Node.objects.values_list("unschedulable", "ready", "allocatable", "labels").get(
                cluster=cluster, name=f"{way}{number}"
            )
            for way in "ab"
        ]
        assert projected[0] == projected[1]
    assert Taint.objects.filter(node__name="a1", key="slow", time_added__isnull=False).exists()
    written = Event.objects.get(name="a3")
    assert (written.written_at, written.reason) == (written.created_at, "Scheduled")


def test_invalid_and_deleted_tokens_are_rejected(front: CreationClient, key: str) -> None:
    async def scene() -> None:
        status, headers, body = await front.post(PODS, pod("p"), {"authorization": "Bearer wrong"})
        assert (status, body["reason"]) == (401, "Unauthorized")
        assert headers["www-authenticate"] == "Bearer"
        assert (await front.post(PODS, pod("p0")))[0] == 201
        await do(lambda: AccessToken.objects.all().delete())
        async with asyncio.timeout(KEY_SECONDS + 5):
            number = 1
            while (await front.post(PODS, pod(f"p{number}")))[0] != 401:
                number += 1
                await asyncio.sleep(0.1)

    play(scene)


def test_a_request_for_another_host_is_refused(front: CreationClient) -> None:
    async def scene() -> None:
        for known in range(2):
            assert (await front.post(PODS, pod(f"p{known}")))[0] == 201
            status, _, body = await front.post(PODS, pod("p"), {"host": "evil.example"})
            assert (status, body["reason"]) == (400, "BadRequest")

    play(scene)


CREATING = "query LIKE '%counter AS MATERIALIZED%' AND pid <> pg_backend_pid()"


def end_connections() -> None:
    """As the database does when it is restarted."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE {CREATING}"
        )
        ended = [row[0] for row in cursor.fetchall()]
    assert len(ended) == 1
    # its socket is closed when the process has ended
    wait_until(lambda: not any(alive(pid) for pid in ended))


def test_a_connection_closed_by_the_database_is_replaced(front: CreationClient) -> None:
    async def scene() -> None:
        assert (await front.post(PODS, pod("p1")))[0] == 201
        await do(end_connections)
        assert (await front.post(PODS, pod("p2")))[0] == 201

    play(scene)


def test_a_closed_connection_that_the_event_loop_has_not_seen_is_replaced(
    front: CreationClient,
) -> None:
    async def scene() -> None:
        assert (await front.post(PODS, pod("p1")))[0] == 201
        ending = threading.Thread(target=do.func, args=[end_connections])
        ending.start()
        # the event loop waits, too
        ending.join()
        assert (await front.post(PODS, pod("p2")))[0] == 201

    play(scene)


def test_a_connection_lost_in_a_statement_fails_its_group_alone(
    front: CreationClient, cluster: Cluster
) -> None:
    waiting = (
        "SELECT pid FROM pg_stat_activity WHERE query LIKE '%counter AS MATERIALIZED%' "
        "AND wait_event_type = 'Lock'"
    )

    def end_the_statement() -> None:
        """Of the creation that waits for the cluster's row, which this transaction has locked."""
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT FROM cluster_cluster WHERE id = %s FOR UPDATE", [cluster.pk])
            locked.set()
            found: list[Any] = []
            while not found:
                cursor.execute("SELECT pg_stat_clear_snapshot()")
                cursor.execute(waiting)
                found = cursor.fetchall()
            cursor.execute("SELECT pg_terminate_backend(%s)", [found[0][0]])

    locked = threading.Event()

    async def scene() -> tuple[list[int], int]:
        assert (await front.post(PODS, pod("p1")))[0] == 201
        ending = asyncio.ensure_future(do(end_the_statement))
        await do(locked.wait)
        lost = await asyncio.gather(front.post(PODS, pod("p2")), front.post(PODS, pod("p3")))
        await ending
        return [status for status, _, _ in lost], (await front.post(PODS, pod("p4")))[0]

    # p2 was in the statement; p3 waited for the next one
    assert play(scene) == ([503, 201], 201)
    assert sorted(Pod.objects.values_list("name", flat=True)) == ["p1", "p3", "p4"]


def waits_for_a_lock(cursor: Any) -> bool:
    cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
    return bool(cursor.fetchone()[0])


def test_a_creation_that_ends_in_a_deadlock_is_tried_again(
    front: CreationClient, cluster: Cluster
) -> None:
    def block() -> None:
        """Take the name of the next pod, and then, against the order of locks, the counter."""
        with transaction.atomic(), connection.cursor() as cursor:
            # the other one finds out
            cursor.execute("SET LOCAL deadlock_timeout = '1min'")
            taken = Pod.objects.get(name="p1")
            taken.pk, taken.uid, taken.name = None, uuid.uuid4(), "p2"
            taken.save(force_insert=True)
            blocked.set()
            wait_until(partial(waits_for_a_lock, cursor))
            cursor.execute("SELECT FROM cluster_cluster WHERE id = %s FOR UPDATE", [cluster.pk])
            transaction.set_rollback(True)

    blocked = threading.Event()

    async def scene() -> list[int]:
        assert (await front.post(PODS, pod("p1")))[0] == 201
        blocking = asyncio.ensure_future(do(block))
        await do(blocked.wait)
        created = await asyncio.gather(front.post(PODS, pod("p2")), front.post(PODS, pod("p3")))
        await blocking
        return [status for status, _, _ in created]

    assert play(scene) == [201, 201]
    assert sorted(Pod.objects.values_list("name", flat=True)) == ["p1", "p2", "p3"]


def test_a_form_of_a_page_is_passed_on(client: Client) -> None:
    async def scene() -> int:
        passed: list[str] = []

        async def other(scope: Any, receive: Any, send: Any) -> None:
            passed.append(scope["path"])

        scope = {"type": "http", "method": "POST", "path": "/login", "headers": []}
        await Front(other)(scope, None, None)  # type: ignore[arg-type]
        return len(passed)

    assert play(scene) == 1


def test_tolerations_may_compare_once_their_gate_is_on(
    front: CreationClient, kube: Kube, cluster: Cluster
) -> None:
    """A state that was read before the gate was turned on or off is read again."""

    def tolerant(name: str, value: str = "90", operator: str = "Gt") -> dict[str, Any]:
        return pod(name, tolerations=[{"key": "sla", "operator": operator, "value": value}])

    def activate(gate: str) -> None:
        revisions.add_revision(cluster, f"{revisions.BUILT_IN}\nfeatureGates: {gate}\n", user="a")

    async def scene() -> None:
        status, _, refused = await front.post(PODS, tolerant("p1"))
        supported = 'supported values: "Equal", "Exists", "Lt", "Gt"'
        assert status == 422 and refused["details"]["causes"][0]["message"].endswith(supported)
        await do(lambda: activate("{AllAlpha: true}"))
        assert (await front.post(PODS, tolerant("p1")))[0] == 201
        status, _, refused = await front.post(PODS, tolerant("p2", "05"))
        assert status == 422 and "in canonical form" in refused["message"]
        assert refused["details"]["causes"][0]["field"] == "spec.tolerations[0].value"
        assert front.passed_on == 0
        await do(lambda: activate("{TaintTolerationComparisonOperators: false}"))
        assert (await front.post(PODS, tolerant("p2")))[0] == 422

    play(scene)
    path = f"{PODS}/p1"
    more = kube.get(path).json()["spec"]["tolerations"]
    more.append({"key": "price", "operator": "Lt", "value": "7"})
    assert kube.patch(path, {"spec": {"tolerations": more}}).status_code == 200
    kube.post(PODS, pod("plain"))
    change = {"spec": {"tolerations": more}}
    assert kube.patch(f"{PODS}/plain", change).status_code == 422
    activate("{TaintTolerationComparisonOperators: true}")
    assert kube.post(f"{PODS}?dryRun=All", tolerant("p3")).status_code == 201
    assert kube.patch(f"{PODS}/plain?dryRun=All", change).status_code == 200
