"""The search over clusters, nodes, pods and decisions."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.dashboard.queries.search import search
from apps.engine.models import SchedulingDecision

pytestmark = pytest.mark.django_db
C = {"name": "c", "image": "i"}


def found(text: str, here: str = "") -> list[tuple[str, str]]:
    return [(hit.sort, hit.name) for hit in search(text, here=here)]


def test_each_sort_is_found_by_a_part_of_its_name(lab: Cluster, empty: Cluster) -> None:
    assert found("LAB")[0] == ("Cluster", "lab")
    assert found("pu-1") == [("Node", "gpu-1")]
    assert ("Pod", "default/web-1") in found("eb-1")
    assert ("Pod", "default/web-1") in found("default/web")
    assert found("other/web") == [each for each in found("other/web") if each[0] == "Decision"]


def test_decisions_are_found_by_number_and_by_the_pod(lab: Cluster) -> None:
    row = SchedulingDecision.objects.filter(cluster=lab, name="web-1").get()
    assert ("Decision", str(row.pk)) in found(str(row.pk))
    assert ("Decision", str(row.pk)) in found("web-1", here="lab")
    assert ("Decision", str(row.pk)) not in found("web-1", here="bare")


def test_a_deleted_pod_is_found_though_it_was_never_scheduled(
    alice: Client, empty: Cluster
) -> None:
    body = {"metadata": {"name": "static-1"}, "spec": {"nodeName": "far", "containers": [C]}}
    actor = Actor("tests")
    created = store.create(empty, kinds.POD, body, actor=actor, namespace="default")
    options = {"gracePeriodSeconds": 0}
    store.delete(empty, kinds.POD, "default", "static-1", actor=actor, options=options)
    (hit,) = search("static")
    story = f"/clusters/bare/stories/{created['metadata']['uid']}"
    assert (hit.name, hit.about, hit.address) == ("default/static-1", "bare, deleted", story)
    missing = alice.get("/clusters/bare/pods/default/static-1")
    assert (missing.status_code, missing.headers["Location"]) == (302, story)


@pytest.mark.parametrize("text", ["", "   ", "\x00", "%", "_", "9" * 30])
def test_odd_texts_find_nothing(lab: Cluster, text: str) -> None:
    assert found(text) == []


def test_the_search_takes_one_query_for_each_sort(
    alice: Client, lab: Cluster, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(7):
        page = alice.get("/search?q=web&cluster=lab", headers={"HX-Request": "true"})
    text = page.content.decode()
    assert 'role="option"' in text and "<html" not in text
    assert (
        "No cluster, node, pod, decision or plugin matches"
        in alice.get("/search?q=zzz").content.decode()
    )
    asked = alice.get("/search?q=who+cordoned+node-3&cluster=lab").content.decode()
    assert 'href="/clusters/lab/changes"' in asked and 'href="/clusters/lab/events"' in asked
    for cluster in ("", "../x"):
        answer = alice.get(f"/search?q=zzz&cluster={cluster}")
        assert answer.status_code == 200 and "<em>Changes</em>" in answer.content.decode()
