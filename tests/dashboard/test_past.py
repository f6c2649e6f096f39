"""Pages of the past: evicted pods, the queue at a moment, the state around a decision, and the
history of a deleted cluster."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from django.test import Client

from apps.cluster.models import Change, Cluster, Pod
from apps.engine.loop.engines import Engines
from apps.engine.models import PastCluster, QueueMove, SchedulingDecision
from tests.dashboard.conftest import add_pods, create_lab, pod, shown
from tests.dashboard.test_node_actions import act, node, press_undo

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_past_of_a_cluster_is_read_before_and_after_its_deletion(alice: Client) -> None:
    lab = create_lab()
    first = SchedulingDecision.objects.get(cluster=lab, name="huge")
    _evict_and_undo(alice, lab)
    _read_past_queue(alice, lab, first)
    _read_state(alice, lab)
    page = alice.get("/clusters/lab/delete").content.decode()
    assert "/deleted-clusters" in page and f"as number {lab.pk}" in " ".join(page.split())
    alice.post("/clusters/lab/delete", {"name": "lab"})
    _read_deleted(alice, lab, first)


def _evict_and_undo(alice: Client, lab: Cluster) -> None:
    bare = Pod.objects.get(cluster=lab, name="web-1")
    name = bare.node_name
    asked = act(alice, "taint", name, text="maintenance=now:NoExecute")
    assert "Taint 1 node with maintenance=now:NoExecute?" in asked
    assert "No controller recreates" in asked and ">web-1<" in asked
    assert "at once" in asked and not node(name).body["spec"].get("taints")

    said = act(alice, "taint", name, text="maintenance=now:NoExecute", sure="1")
    Engines().run(lab.pk)
    lost = Pod.objects.filter(cluster=lab, uid=bare.uid).first()
    assert lost is None or lost.body["metadata"].get("deletionTimestamp")
    undone = press_undo(alice, said)
    assert f"Undone on {name}: taint maintenance removed." in undone
    assert "Undo cannot restore evicted pods that have no controller: default/web-1" in undone
    assert "create it again" in undone
    assert not node(name).body["spec"].get("taints")


def _read_past_queue(alice: Client, lab: Cluster, huge: SchedulingDecision) -> None:
    """Before the attempt `huge` waits in activeQ; after it, among the unschedulable pods."""
    created = Change.objects.get(cluster=lab, name="huge", type="ADDED")
    before = alice.get(f"/clusters/lab/queue?version={created.version}")
    rows = {each.name: each for each in before.context["past"].page.rows}
    assert "Read-only" in before.content.decode() and "Activate" not in before.content.decode()
    assert rows["huge"].queue == "active" and rows["huge"].left_at is not None
    failed = QueueMove.objects.filter(cluster=lab, name="huge", target="unschedulable").earliest(
        "id"
    )
    after = failed.at.isoformat().replace("+00:00", "Z")
    found = alice.get(f"/clusters/lab/queue?at={after}").context["past"].page.rows
    assert ("huge", "unschedulable") in {(each.name, each.queue) for each in found}
    api = alice.get("/api/v1/clusters/lab/queue/past?at=now").json()
    waiting = {each["name"]: each for each in api["pods"]}
    assert waiting["huge"]["rejected_by"][0] == "NodeResourcesFit"
    assert waiting["held"]["queue"] == "gated" and "foreign" not in waiting
    assert api["sizes"]["unschedulable"] == 1
    for query, field in (
        ("at=2999-01-01", "at"),
        ("at=2026-13-01", "at"),
        ("version=999999", "version"),
        ("version=1&at=now", "version"),
    ):
        refused = alice.get(f"/api/v1/clusters/lab/queue/past?{query}")
        assert refused.status_code == 400
        assert refused.json()["causes"][0]["field"] == field
    start = lab.created_at.isoformat().replace("+00:00", "Z")
    for query in ("at=2020-01-01", "at=2020-01-01&queue=gated"):
        early = shown(alice, f"/clusters/lab/queue?{query}")
        assert "The cluster had no objects yet: its first change was at" in early
        assert "empty at that time" not in early and start[:13] in early
    mistyped = alice.get("/clusters/lab/queue?at=soon")
    text = mistyped.content.decode()
    assert mistyped.status_code == 400 and "Queue at: &#x27;soon&#x27; is not a time" in text
    assert 'name="at"' in text and 'value="soon"' in text and "The queue as it was" not in text


def _read_state(alice: Client, lab: Cluster) -> None:
    add_pods(lab, pod("late", cpu="2"))
    Engines().run(lab.pk)
    row = SchedulingDecision.objects.get(cluster=lab, name="late")
    link = f"/clusters/lab/decisions/{row.pk}/state"
    assert link in alice.get(f"/clusters/lab/decisions/{row.pk}").content.decode()
    act(alice, "cordon", "node-0", "node-1")
    around = alice.get(f"{link}?pods_of={row.node}").context["around"]
    nodes = {each.node.name: each for each in around.page.rows}
    assert nodes[row.node].node.outcome == "chosen" and not nodes[row.node].node.unschedulable
    assert nodes["gpu-1"].node.outcome == "rejected"
    assert "late" not in {each.name for each in around.selected.node.pods}
    assert {"late", "huge"} <= {each.name for each in around.pending}
    api = alice.get(f"/api/v1/clusters/lab/decisions/{row.pk}/state").json()
    by_name = {each["name"]: each for each in api["nodes"]}
    assert by_name[row.node]["outcome"] == "chosen" and api["version"] == row.cluster_version
    text = shown(alice, f"/clusters/lab/decisions/{row.pk}")
    assert "?node=gpu-1#explanation" in text


def _read_deleted(alice: Client, lab: Cluster, huge: SchedulingDecision) -> None:
    past = PastCluster.objects.get(pk=lab.pk)
    base = f"/clusters/lab~{past.pk}"
    assert f'href="{base}/decisions"' in alice.get("/deleted-clusters").content.decode()
    for page, expected in (
        ("/decisions", "huge"),
        (f"/decisions/{huge.pk}", "Insufficient cpu"),
        (f"/decisions/{huge.pk}/explanation", "Insufficient cpu"),
        (f"/decisions/{huge.pk}/state", "The cluster is deleted"),
        (f"/decisions/{huge.pk}/refused/1", "rejected for the same reason"),
        ("/changes?kind=Node", "node-0"),
        ("/events", "TaintManagerEviction"),
        ("/queue/history", "UnschedulablePodAdd"),
        (f"/queue?decision={huge.pk}", "huge"),
        (f"/stories/{huge.pod_uid}", "attempt 1"),
    ):
        answer = alice.get(f"{base}{page}")
        text = answer.content.decode()
        assert answer.status_code == 200, page
        assert expected in text and "was deleted on" in text, page
        # the only buttons are those of the user: theme, full times, sign out
        assert "sse-connect" not in text and text.count('method="post"') == 3, page
    version = Change.objects.filter(cluster_id=past.pk).latest("version").version
    assert alice.get(f"{base}/changes/{version}").status_code == 200
    assert alice.get(f"{base}/nodes/node-1").url == f"{base}/decisions?node=node-1"  # type: ignore[attr-defined]
    assert alice.get(f"{base}/pods/default/huge").url == f"{base}/stories/{huge.pod_uid}"  # type: ignore[attr-defined]
    assert alice.get(f"{base}/settings").status_code == 410
    assert alice.post(f"{base}/pause").status_code == 410
    assert alice.get(f"/clusters/other~{past.pk}/decisions").status_code == 404

    for name in ("decisions", "changes", "events", "queue/history"):
        api = f"/api/v1/history/clusters/{past.pk}/{name}"
        listed = alice.get(f"{api}?page_size=1000").json()["results"]
        rows = csv.DictReader(io.StringIO(_read(alice, f"{api}/export?format=csv")))
        exported = json.loads(_read(alice, f"{api}/export?format=json"))
        assert len(listed) == len(list(rows)) == len(exported) > 0, name

    assert alice.post(f"/deleted-clusters/{past.pk}/delete").status_code == 302
    assert alice.get(f"{base}/decisions").status_code == 404
    assert not QueueMove.objects.filter(cluster_id=past.pk).exists()


def _read(alice: Client, address: str) -> str:
    answer = alice.get(address)
    assert re.search(r'filename="[a-z-]+\.(csv|json)"', answer["Content-Disposition"])
    return b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
