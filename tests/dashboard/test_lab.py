"""The page of the lab: questions, answers, links that repeat them, and mistakes."""

from __future__ import annotations

import re
from html import unescape
from io import StringIO
from typing import Any

import msgspec
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Change, Cluster, Pod
from apps.studies.explanations.states import states
from tests.stack.running_site import wait_until

POD = """
apiVersion: v1
kind: Pod
metadata: {name: new}
spec:
  containers:
  - {name: main, image: i, resources: {requests: {cpu: "%s"}}}
"""


def read(answer: Any) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def test_the_page_answers_every_question_and_writes_nothing(lab: Cluster, alice: Client) -> None:
    address, before = f"/clusters/{lab.name}/lab", Change.objects.count()
    node = Pod.objects.get(name="web-1").node_name
    assert "Nothing is written" in read(alice.get(address))
    ask = {"ask": "simulate", "pending": "on", "objects": POD % "1", "delete_nodes": node}
    answer = alice.post(address, ask)
    text = read(answer)
    assert f"at version {lab.resource_version}" in text or "at version" in text
    assert "huge" in text and "It needs 100 cpu; the largest node has" in text
    assert "no controller replaces the pod" in text
    link = re.search(r'<a href="([^"]+)"\s*>Link to this answer', answer.content.decode())
    assert link is not None and "version=" in link[1]
    again = alice.get(unescape(link[1]))
    assert "It needs 100 cpu" in read(again)
    fit = read(alice.post(address, {"ask": "fit", "objects": POD % "2"}))
    assert re.search(r"\d+ more copies of default/new fit", fit)
    shapes = {"ask": "nodes", "pending": "on", "shapes": "huge 128 256Gi 2.5"}
    assert "1 huge: cost 2.5" in read(alice.post(address, shapes))
    ask = {"ask": "nodes", "pending": "on", "objects": POD % "60", "shapes": "large 64 99Gi 1.5"}
    partly = read(alice.post(address, ask))
    assert "1 large: cost 1.50, and 3 pods without a node" in partly
    assert "default/huge fits on none of these nodes, however many there are:" in partly
    assert "could be emptied at the same time" in read(alice.get(f"{address}?ask=emptiable"))
    assert "If one node fails" in read(alice.get(f"{address}?ask=failures&nodes={node}"))
    assert Change.objects.count() == before


def test_the_state_is_read_while_the_form_is_open(
    transactional_db: None, lab: Cluster, alice: Client
) -> None:
    address = f"/clusters/{lab.name}/lab"
    # one state is kept in memory: that of the cluster which was asked about last
    with states.now(create_cluster("other", user="alice")):
        assert not states.has_present(lab)
    alice.get(address)
    wait_until(lambda: states.has_present(lab))
    with CaptureQueriesContext(connection) as queries:
        answer = alice.post(address, {"ask": "simulate", "pending": "on", "objects": POD % "1"})
    assert "It needs 100 cpu" in read(answer)
    assert not [each for each in queries if "o.body::text FROM cluster_pod" in each["sql"]]


def test_the_list_of_pods_says_whether_pending_ones_ever_run(lab: Cluster, alice: Client) -> None:
    assert (
        f"/clusters/{lab.name}/prospects"
        in alice.get(f"/clusters/{lab.name}/pods").content.decode()
    )
    text = read(alice.get(f"/clusters/{lab.name}/prospects"))
    assert "huge never It would not fit on an empty cluster. It needs 100 cpu" in text
    assert "held waits its turn It waits for its scheduling gates: example.com/quota." in text
    foreign = "It waits for scheduler another-scheduler, which no profile here has."
    assert f"foreign never {foreign}" in text
    page = read(alice.get(f"/clusters/{lab.name}/pods/default/huge/waiting"))
    assert "Never. It would not fit on an empty cluster." in page


def test_a_mistake_is_shown_at_its_field(lab: Cluster, alice: Client) -> None:
    address = f"/clusters/{lab.name}/lab"
    mistakes = [
        ({"ask": "simulate", "drain": "nobody"}, "entry 1: there is no node 'nobody'"),
        ({"ask": "simulate", "objects": POD % "-1"}, "must be greater than or equal to 0"),
        ({"ask": "simulate", "objects": "a: ["}, "YAML"),
        ({"ask": "simulate", "configuration": "a: b"}, "apiVersion"),
        ({"ask": "simulate", "version": "999999"}, "is in the future"),
        ({"ask": "fit"}, "A pod is required for this question"),
        ({"ask": "nodes"}, "shapes are required for this question"),
        ({"ask": "nodes", "shapes": "small 4"}, "is not of the form: name cpu memory price"),
        ({"ask": "nothing"}, "not one of the available choices"),
    ]
    for wrong, message in mistakes:
        answer = alice.post(address, wrong)
        assert answer.status_code == 422, wrong
        assert message in read(answer), wrong


def test_the_commands_answer_as_the_page_does(lab: Cluster, tmp_path: Any) -> None:
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(POD % "2")

    def run(*arguments: str) -> str:
        out = StringIO()
        call_command(*arguments, stdout=out)
        return out.getvalue()

    text = run("simulate", lab.name, "-f", str(manifest))
    assert "default/new -> " in text
    assert "1 placed, 3 not placed, 0 preempted, 0 lost." in text
    with pytest.raises(CommandError, match="3 pods are not placed"):
        run("simulate", lab.name, "--check")
    answer = msgspec.json.decode(run("capacity", lab.name, "fit", "-f", str(manifest), "--json"))
    assert answer["count"] > 0
    assert "Could be emptied" in run("capacity", lab.name, "emptiable")
    assert "pods move" in run("capacity", lab.name, "failures")
    with pytest.raises(CommandError, match="there is no node 'x'"):
        run("simulate", lab.name, "--drain", "x")
    with pytest.raises(CommandError, match="--shapes"):
        run("capacity", lab.name, "nodes")
