"""The pages of the change log, its filters, and one change."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from apps.cluster import kinds
from apps.cluster.models import Change, Cluster
from apps.cluster.writing import store
from apps.dashboard.queries import changes
from apps.dashboard.queries.changes import change_list
from tests.dashboard.conftest import ACTOR

pytestmark = pytest.mark.django_db


def label(cluster: Cluster, value: str) -> None:
    def change(body: Any) -> Any:
        metadata = body["metadata"]
        return {**body, "metadata": {**metadata, "labels": {**metadata["labels"], "team": value}}}

    store.patch(cluster, kinds.NODE, "", "node-1", change, actor=ACTOR)
    cluster.refresh_from_db()


def test_the_newest_change_comes_first_with_its_fields_and_user(lab: Cluster) -> None:
    label(lab, "a")
    first = change_list(lab, {}).rows[0]
    assert (first.verb, first.change.kind, first.change.name) == ("updated", "Node", "node-1")
    assert first.change.user == "alice" and first.change.request_id == "request-7"
    assert "metadata.labels.team" in [each.path for each in first.fields]


def test_a_list_of_changes_shows_short_values_before_and_after(alice: Client, lab: Cluster) -> None:
    for value in ("a", "b", "long" * 10):
        label(lab, value)
    page = re.sub(r"(<[^>]+>|\s)+", " ", alice.get("/clusters/lab/changes").content.decode())
    shown = re.findall(r"metadata.labels.team (\S+ → \S+|not set → \S+)?", page)
    assert shown == ["", "a → b", "not set → a"]


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({"kind": "Node", "verb": "ADDED"}, {"node-0", "node-1", "node-2", "gpu-1"}),
        ({"q": "gpu", "verb": "ADDED", "kind": "Node"}, {"gpu-1"}),
        ({"user": "alice", "kind": "Pod", "q": "huge"}, {"huge"}),
        ({"request": "request-7", "kind": "Node"}, {"gpu-1"}),
        ({"namespace": "nowhere"}, set()),
    ],
)
def test_changes_are_filtered(lab: Cluster, query: dict[str, str], shown: set[str]) -> None:
    assert {row.change.name for row in change_list(lab, query).rows} == shown


def test_older_changes_follow_without_a_gap(lab: Cluster) -> None:
    query: dict[str, Any] = {"size": "25"}
    seen: list[int] = []
    while True:
        found = change_list(lab, query)
        seen += [row.change.version for row in found.rows]
        if found.older is None:
            break
        query["before"] = str(found.older)
    newest_first = Change.objects.filter(cluster=lab).order_by("-version")
    assert seen == list(newest_first.values_list("version", flat=True))


def test_a_filter_with_few_matches_searches_the_log_in_parts(
    lab: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "SEARCHED_VERSIONS", 5)
    query = {"kind": "Node", "q": "node-0", "verb": "ADDED"}
    found = change_list(lab, query)
    assert not found.rows and found.searched_to == lab.resource_version - 4
    for _ in range(lab.resource_version):
        if found.older is None:
            break
        found = change_list(lab, {**query, "before": str(found.older)})
        if found.rows:
            return
    pytest.fail("it was not found")


def test_one_change_shows_the_fields_and_the_lines_that_differ(alice: Client, lab: Cluster) -> None:
    label(lab, "a")
    label(lab, "b")
    page = alice.get(f"/clusters/lab/changes/{lab.resource_version}").content.decode()
    assert "metadata.labels.team" in page
    assert "side by side" in page and "unified" in page
    assert "team: a" in page and "team: b" in page
    unified = alice.get(f"/clusters/lab/changes/{lab.resource_version}?view=unified")
    assert 'class="diff unified"' in unified.content.decode()


def test_a_change_without_a_previous_version_shows_the_object(alice: Client, lab: Cluster) -> None:
    label(lab, "a")
    newest = Change.objects.get(cluster=lab, version=lab.resource_version)
    Change.objects.filter(pk=newest.pk).update(previous_version=0)
    page = alice.get(f"/clusters/lab/changes/{newest.version}").content.decode()
    assert "no longer stored" in page and "team: a" in page
