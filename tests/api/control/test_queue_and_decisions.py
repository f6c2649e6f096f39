"""The queue and the ledger in the control-plane API."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.engine.loop.engine import Engine
from apps.engine.loop.engines import Engines
from apps.engine.models import LoopLease, QueueActivation, QueueMove
from apps.engine.profiles import revisions
from apps.engine.queue import activation
from apps.engine.workers import lease
from apps.scheduler.framework.events import EVENT_UNSCHEDULABLE_TIMEOUT
from tests.api.control.conftest import Api
from tests.api.objects import pod

pytestmark = pytest.mark.django_db(transaction=True)

BIG = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100"}}}]}


@pytest.fixture
def lab(user: Any) -> Cluster:
    """Three nodes; a and b are bound, `big` fits on no node, `gated` is gated."""
    cluster = create_cluster("lab", user="tests", nodes=3, zones=3, tie_break="first-name")
    bodies = [
        pod("a"),
        pod("b"),
        {**pod("big"), "spec": BIG},
        pod("gated", schedulingGates=[{"name": "x.io/wait"}]),
    ]
    writes = [Create(kinds.POD, body, "default") for body in bodies]
    store.write(cluster, writes, actor=Actor("tests", "request-1"))
    Engines().run(cluster.pk)
    return cluster


def test_the_queue_is_listed_by_sub_queue(api: Api, lab: Cluster) -> None:
    answer = api.get("/clusters/lab/queue?queue=gated")
    assert answer.status_code == 200
    body = answer.json()
    assert body["sizes"]["gated"] == 1
    assert [found["name"] for found in body["pods"]] == ["gated"]
    waiting = api.get("/clusters/lab/queue?queue=unschedulable").json()["pods"]
    waiting += api.get("/clusters/lab/queue?queue=backoff").json()["pods"]
    assert [found["name"] for found in waiting] == ["big"]
    assert waiting[0]["unschedulable_plugins"] == ["NodeResourcesFit"]


def test_the_whole_queue_has_positions_gates_and_the_summary(api: Api, lab: Cluster) -> None:
    body = api.get("/clusters/lab/queue").json()
    assert body == api.get("/clusters/lab/queue?queue=all").json()
    assert body["summary"] == "activeQ:0; backoffQ:0; unschedulablePods:2"
    assert (body["queue"], body["total"]) == ("all", 2)
    told = [(found["name"], found["position"], found["gates"]) for found in body["pods"]]
    assert told == [("big", 1, []), ("gated", 1, ["x.io/wait"])]
    assert api.get("/clusters/lab/queue?queue=all&plugin=SchedulingGates").json()["total"] == 1
    assert api.get("/clusters/lab/queue?queue=all&cursor=bz01").json()["total"] == 2
    assert api.get("/clusters/lab/queue?queue=fast").status_code == 400
    then = api.get("/clusters/lab/queue?at=1h")
    assert then.status_code == 400 and "/queue/past" in then.json()["message"]
    assert api.get("/clusters/lab/queue?nmespace=a").json()["message"].startswith("nmespace: ")
    assert api.get("/clusters/lab/queue?pod=%00").status_code == 400


def test_positions_have_the_order_in_which_the_queue_pops(api: Api, user: Any) -> None:
    cluster = create_cluster("sorted", user="tests", nodes=1, paused=True)
    actor = Actor("tests")
    for value in (5, 9):
        body = {"metadata": {"name": f"p{value}"}, "value": value}
        store.create(cluster, kinds.PRIORITY_CLASS, body, actor=actor)
    for name, value in (("low", 0), ("high", 9), ("b", 5), ("a", 5)):
        spec = {**BIG, **({"priorityClassName": f"p{value}"} if value else {})}
        store.create(
            cluster, kinds.POD, {**pod(name), "spec": spec}, actor=actor, namespace="default"
        )
    held = lease.acquire(cluster.pk)
    assert held is not None
    engine = Engine.load(cluster, held)

    def told() -> list[tuple[str, str]]:
        pods = api.get("/clusters/sorted/queue?queue=all").json()["pods"]
        return [(found["queue"], found["name"]) for found in pods]

    def is_so() -> list[tuple[str, str]]:
        entries = engine.scheduler.queue.dump()
        return [(entry.queue.value, entry.pod_key.partition("/")[2]) for entry in entries]

    assert told() == is_so() == [("active", name) for name in ("high", "b", "a", "low")]
    queue = engine.scheduler.queue
    for plugins in (["NodeResourcesFit"], [], ["NodeResourcesFit"], []):
        popped = queue.pop()
        assert popped is not None
        queue.add_unschedulable_if_not_present(popped, unschedulable_plugins=plugins)
    queue.move_all_to_active_or_backoff_queue(EVENT_UNSCHEDULABLE_TIMEOUT)
    engine.recorder.record([], queue.take_changes())
    assert told() == is_so()
    # rejected pods by priority, then pods with an error
    assert [name for _, name in told()] == ["high", "a", "b", "low"]


def test_the_history_of_the_queue_is_found_by_pod_event_and_plugin(api: Api, lab: Cluster) -> None:
    def events(query: str) -> list[str]:
        answer = api.get(f"/clusters/lab/queue/history?{query}")
        assert answer.status_code == 200
        return [row["event"] for row in answer.json()["results"]]

    assert events("pod=default/a") == ["Done", "Pop", "UnschedulablePodAdd"]
    assert events("pod=a&event=Pop") == ["Pop"]
    assert events("plugin=SchedulingGates") == ["UnschedulablePodAdd"]
    assert events("until=2000-01-01T00:00:00Z") == []
    [row] = api.get("/clusters/lab/queue/history?pod=gated").json()["results"]
    assert (row["source"], row["target"], row["attempt"]) == ("", "gated", 0)
    assert events(f"pod_uid={row['pod_uid']}") == ["UnschedulablePodAdd"]
    first = api.get("/clusters/lab/queue/history?page_size=2").json()
    assert len(first["results"]) == 2 and first["next"]
    assert api.get("/clusters/lab/queue/history?pod_uid=x").status_code == 400
    assert api.get("/clusters/lab/queue/history?since=x").status_code == 400
    assert api.get("/clusters/none/queue/history").status_code == 404


def test_pods_are_activated_by_a_user_in_any_worker(api: Api, lab: Cluster) -> None:
    answer = api.post("/clusters/lab/queue/activate", {"pods": ["default/big"]})
    assert (answer.status_code, answer.json()) == (202, {"pods": ["default/big"]})
    assert Cluster.objects.get(pk=lab.pk).due_at is not None
    # the first worker with the activation is killed before it commits
    held = lease.acquire(lab.pk, "doomed")
    assert held is not None
    doomed = Engine.load(lab, held)
    activation.apply(lab, doomed.scheduler.queue)
    LoopLease.objects.filter(cluster=lab).update(expires_at="2000-01-01T00:00:00Z")
    Engines().run(lab.pk)
    [move] = QueueMove.objects.filter(cluster=lab, event="ManualActivate")
    assert (move.name, move.source, move.target) == ("big", "unschedulable", "active")
    assert "by tests" in move.reason or "by alice" in move.reason
    assert not QueueActivation.objects.exists()
    assert api.get("/decisions?cluster=lab&pod=big").json()["results"][0]["attempt"] == 2


def test_pods_that_cannot_be_activated_are_an_error_and_none_is_activated(
    api: Api, lab: Cluster
) -> None:
    answer = api.post("/clusters/lab/queue/activate", {"pods": ["default/big", "default/a"]})
    assert answer.status_code == 422
    assert [cause["field"] for cause in answer.json()["causes"]] == ["pods[1]"]
    assert api.post("/clusters/lab/queue/activate", {"pods": []}).status_code == 400
    assert api.post("/clusters/lab/queue/activate", {}).status_code == 400
    assert not QueueActivation.objects.exists()


def test_decisions_are_listed_newest_first(
    api: Api, lab: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    # the token with its user, the cluster, the names of clusters, the decisions
    api.get("/clusters")  # notes when the token was used
    with django_assert_num_queries(4):
        found = api.get("/decisions?cluster=lab").json()["results"]
    assert {row["name"] for row in found} == {"a", "b", "big"}
    assert [row["id"] for row in found] == sorted((row["id"] for row in found), reverse=True)
    assert {row["request_id"] for row in found} == {"request-1"}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("result=unschedulable", {"big"}),
        ("result=scheduled", {"a", "b"}),
        ("pod=default/a", {"a"}),
        ("pod=a", {"a"}),
        ("pod=other/a", set()),
        ("profile=default-scheduler", {"a", "b", "big"}),
        ("since=2000-01-01T00:00:00Z", {"a", "b", "big"}),
        ("until=2000-01-01T00:00:00Z", set()),
        ("node=none", set()),
        ("plugin=NodeResourcesFit", {"big"}),
        ("reason=Insufficient cpu", {"big"}),
        ("text=insufficient cpu", {"big"}),
        ("revision=1&attempt=1&namespace=default", {"a", "b", "big"}),
        ("request_id=request-1", {"a", "b", "big"}),
        ("request_id=request-2", set()),
    ],
)
def test_decisions_are_filtered(api: Api, lab: Cluster, query: str, names: set[str]) -> None:
    addresses = (
        f"/clusters/lab/decisions?{query}",
        f"/decisions?cluster=lab&{query}",
        f"/decisions?cluster_id={lab.pk}&{query}",
    )
    for address in addresses:
        found = api.get(address).json()["results"]
        assert {row["name"] for row in found} == names, address


@pytest.mark.parametrize("address", ["/clusters/lab/decisions", "/decisions", "/decisions/export"])
def test_a_misspelt_filter_is_an_error(api: Api, lab: Cluster, address: str) -> None:
    answer = api.get(f"{address}?podd=a")
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("podd: unknown parameter; known parameters are ")


def test_decisions_come_in_pages(api: Api, lab: Cluster) -> None:
    first = api.get("/decisions?page_size=2").json()
    assert len(first["results"]) == 2
    rest = api.client.get(first["next"], headers=api.headers).json()
    assert len(rest["results"]) == 1
    assert rest["next"] is None


def test_a_decision_has_every_node_and_every_score(api: Api, lab: Cluster) -> None:
    (chosen,) = api.get("/decisions?pod=a").json()["results"]
    full = api.get(f"/decisions/{chosen['id']}").json()
    assert full["result"] == "scheduled"
    scores = full["scores"]
    assert scores["nodes"][0] == full["node"] == full["ties"][0]
    assert scores["total"] == sorted(scores["total"], reverse=True)
    fit = next(column for column in scores["plugins"] if column["plugin"] == "NodeResourcesFit")
    assert len(fit["raw"]) == len(fit["normalized"]) == 3
    one = api.get(f"/decisions/{chosen['id']}/nodes/{full['node']}").json()
    assert (one["refusal"], one["total"]) == (None, scores["total"][0])


def test_a_decision_has_its_search_draw_and_durations(api: Api, lab: Cluster) -> None:
    (row,) = api.get("/decisions?pod=a").json()["results"]
    full = api.get(f"/decisions/{row['id']}").json()
    assert (full["search"]["start"], full["search"]["evaluated"]) == (0, 3)
    assert full["ties"][full["search"]["draw"]] == full["node"]
    assert (full["tie_break"], full["seed"]) == ("first-name", lab.seed)
    assert full["preemption"] is None
    for point, spent in full["plugin_durations"].items():
        assert sum(spent.values()) <= full["durations"][point]
        # these plugins have nothing to do for a pod without volumes and claims
        assert sum(spent.values()) > 0 or point in ("Reserve", "PreBind") or not spent
    assert full["plugin_durations"]["Score"].keys() == {
        column["plugin"] for column in full["scores"]["plugins"]
    }


def test_a_decision_has_the_candidates_of_preemption(api: Api, lab: Cluster) -> None:
    low, high = ({"metadata": {"name": f"p{n}"}, "value": n} for n in (1, 9))
    wide = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "5"}}}]}
    fillers = [{**pod(f"f{n}"), "spec": {**wide, "priorityClassName": "p1"}} for n in range(3)]
    vip = {**pod("vip"), "spec": {**wide, "priorityClassName": "p9"}}
    writes = [Create(kinds.PRIORITY_CLASS, each) for each in (low, high)]
    store.write(lab, writes, actor=Actor("tests"))
    for bodies in (fillers, [vip]):
        writes = [Create(kinds.POD, body, "default") for body in bodies]
        store.write(lab, writes, actor=Actor("tests"))
        Engines().run(lab.pk)
    row = api.get("/clusters/lab/decisions?pod=vip&attempt=1").json()["results"][0]
    (victim,) = row["victims"]
    assert [each["name"] for each in api.get(f"/decisions?victim={victim}").json()["results"]] == [
        "vip"
    ]
    found = api.get(f"/decisions/{row['id']}").json()["preemption"]
    assert found["nominated_node"] == row["nominated_node"]
    assert found["decided_by"] == "tie" or found["decided_by"] in found["candidates"][0]["figures"]
    chosen = next(each for each in found["candidates"] if each["node"] == found["nominated_node"])
    assert chosen["victims"] == [victim]
    assert len(found["candidates"]) == 3


def test_a_decision_has_its_extender_calls(api: Api, lab: Cluster) -> None:
    extender = """
        apiVersion: kubescheduler.config.k8s.io/v1
        kind: KubeSchedulerConfiguration
        extenders:
        - {urlPrefix: "http://127.0.0.1:9", filterVerb: filter, ignorable: true}
    """
    revisions.add_revision(lab, extender, user="tests")
    store.write(lab, [Create(kinds.POD, pod("asked"), "default")], actor=Actor("tests"))
    engines = Engines()
    engines.run(lab.pk)
    engines.close()
    (row,) = api.get("/decisions?pod=asked").json()["results"]
    full = api.get(f"/decisions/{row['id']}").json()
    (call,) = full["extender_calls"]
    assert (call["verb"], call["url"]) == ("filter", "http://127.0.0.1:9/filter")
    assert (call["nodes_in"], call["nodes_out"], call["ignored"]) == (3, 0, True)
    assert "connection refused" in call["error"]
    assert full["permit_wait"] is None


def test_a_refusal_has_its_plugin_and_reason(api: Api, lab: Cluster) -> None:
    (refused,) = api.get("/decisions?result=unschedulable&page_size=1").json()["results"]
    full = api.get(f"/decisions/{refused['id']}").json()
    (refusal,) = full["refusals"]
    assert (refusal["extension_point"], refusal["plugin"]) == ("Filter", "NodeResourcesFit")
    assert refusal["reasons"] == ["Insufficient cpu"]
    assert refusal["count"] == len(refusal["nodes"]) == 3
    one = api.get(f"/decisions/{refused['id']}/nodes/{refusal['nodes'][0]}").json()
    assert one["refusal"]["reasons"] == ["Insufficient cpu"]


def test_the_decisions_of_a_deleted_cluster_are_retained(api: Api, lab: Cluster) -> None:
    (row,) = api.get("/clusters/lab/decisions?pod=a").json()["results"]
    assert api.delete("/clusters/lab").status_code == 204
    assert api.get("/clusters/lab/decisions").status_code == 404
    (past,) = api.get("/history/clusters").json()
    assert (past["id"], past["name"], past["user"]) == (lab.pk, "lab", "alice")
    again = api.get(f"/decisions/{row['id']}").json()
    assert (again["cluster"], again["node"]) == ("lab", row["node"])
    found = api.get(f"/history/clusters/{lab.pk}/decisions?text=insufficient").json()["results"]
    assert [each["name"] for each in found] == ["big"]
    assert len(api.get(f"/decisions?cluster_id={lab.pk}").json()["results"]) == 3
    assert api.delete(f"/history/clusters/{lab.pk}").status_code == 204
    assert api.get(f"/decisions/{row['id']}").status_code == 404
    assert api.get(f"/history/clusters/{lab.pk}").status_code == 404


def test_a_cluster_can_be_deleted_with_its_history(api: Api, lab: Cluster) -> None:
    (row,) = api.get("/clusters/lab/decisions?pod=a").json()["results"]
    assert api.delete("/clusters/lab?with_history=perhaps").status_code == 400
    assert api.delete("/clusters/lab?with_history=true").status_code == 204
    assert api.get("/history/clusters").json() == []
    assert api.get(f"/decisions/{row['id']}").status_code == 404


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/decisions?cluster=none", 404),
        ("/clusters/none/decisions", 404),
        ("/history/clusters/1/decisions", 404),
        ("/history/clusters/x", 404),
        ("/clusters/lab/decisions?min_attempt=-1", 400),
        ("/decisions?cluster_id=x", 400),
        ("/decisions?result=odd", 400),
        ("/decisions?since=tomorrow", 400),
        ("/decisions?pod_uid=x", 400),
        ("/decisions?pod=%00", 400),
        ("/decisions?cursor=x", 400),
        ("/decisions/999999", 404),
        ("/decisions/x", 404),
        ("/clusters/none/queue", 404),
        ("/clusters/lab/queue?queue=odd", 400),
        ("/clusters/lab/queue?page_size=x", 400),
    ],
)
def test_invalid_queries_are_errors(api: Api, lab: Cluster, path: str, status: int) -> None:
    assert api.get(path).status_code == status


def test_wrong_methods_and_unauthenticated_requests(api: Api, anonymous: Api, lab: Cluster) -> None:
    assert api.post("/decisions", {}).status_code == 405
    assert api.post("/clusters/lab/queue", {}).status_code == 405
    for path in (
        "/decisions",
        "/decisions/1",
        "/clusters/lab/decisions",
        "/history/clusters",
        "/clusters/lab/queue",
    ):
        assert anonymous.get(path).status_code == 401
