"""The list of decisions, the matrix of scores, and the revisions of the configuration."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.html import strip_tags

from apps.cluster.models import Cluster
from apps.engine.models import ConfigurationRevision, SchedulingDecision
from apps.engine.profiles import revisions

pytestmark = pytest.mark.django_db

PACKING = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 100
profiles:
- schedulerName: default-scheduler
  plugins:
    score:
      enabled:
      - {name: NodeResourcesFit, weight: 7}
"""


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("pod=web-*", {"web-0", "web-1", "web-2"}),
        ("pod=default/web-1", {"web-1"}),
        ("pod=eb-", {"web-0", "web-1", "web-2"}),
        ("pod=default/web", set()),
        ("result=unschedulable", {"huge"}),
        ("plugin=NodeResourcesFit&result=unschedulable", {"huge"}),
        ("reason=Insufficient+cpu&result=unschedulable", {"huge"}),
        ("text=cpu", {"huge"}),
        ("revision=2", set()),
        ("profile=default-scheduler&min_attempt=2", set()),
    ],
)
def test_decisions_are_filtered_on_the_page(
    alice: Client, lab: Cluster, query: str, names: set[str]
) -> None:
    found = alice.get(f"/clusters/lab/decisions?{query}").context["decisions"].page.rows
    assert {row.name for row in found} == names


def test_an_invalid_filter_is_shown_beside_the_list(alice: Client, lab: Cluster) -> None:
    response = alice.get("/clusters/lab/decisions?since=tomorrow")
    assert response.status_code == 422
    page = response.content.decode()
    assert "From: " in page and "tomorrow" in page and "filters-decisions" in page


def test_the_list_links_to_its_exports(alice: Client, lab: Cluster) -> None:
    found = alice.get("/clusters/lab/decisions?pod=web-*&sort=x").context["decisions"]
    files = dict(found.files)
    assert list(files) == ["CSV", "JSON", "JSON Lines"]
    csv = b"".join(alice.get(files["CSV"]).streaming_content).decode()  # type: ignore[attr-defined]
    assert len(csv.strip().splitlines()) == 4 and "huge" not in csv
    assert alice.get(files["JSON Lines"]).status_code == 200


def test_the_matrix_of_a_decision_is_fetched_once(alice: Client, lab: Cluster) -> None:
    row = SchedulingDecision.objects.filter(cluster=lab, result="scheduled").latest("pk")
    response = alice.get(f"/clusters/lab/decisions/{row.pk}/scores.json")
    assert "immutable" in response.headers["Cache-Control"]
    matrix = response.json()
    assert matrix["nodes"][0] == row.node and len(matrix["nodes"]) == row.feasible_nodes
    assert {"plugin", "weight", "raw", "normalized"} == set(matrix["plugins"][0])
    assert alice.get(f"/api/v1/decisions/{row.pk}").json()["scores"] == matrix


def test_the_filter_of_scores_reloads_only_their_region(alice: Client, lab: Cluster) -> None:
    row = SchedulingDecision.objects.filter(cluster=lab, result="scheduled").latest("pk")
    headers = {"HX-Request": "true", "HX-Target": "scores"}
    response = alice.get(f"/clusters/lab/decisions/{row.pk}?q=node-1", headers=headers)
    text = response.content.decode()
    assert 'id="scores"' in text and 'id="decision"' not in text
    assert "node-1" in text and ">node-2<" not in text


def test_a_revision_is_activated_after_a_preview_of_its_effects(
    alice: Client, lab: Cluster
) -> None:
    revisions.add_revision(lab, PACKING, user="alice", note="pack")
    page = alice.get("/clusters/lab/profiles/1/activate").content.decode()
    assert "weight of NodeResourcesFit" in page and "is retried with it" in page.replace(
        "are", "is"
    )
    assert ConfigurationRevision.objects.get(cluster=lab, active=True).revision == 2
    done = alice.post("/clusters/lab/profiles/1/activate", follow=True)
    assert "Revision 1 is now active." in done.content.decode()
    assert alice.get("/clusters/lab/profiles/9/activate").status_code == 404


def test_revisions_count_their_decisions_and_are_compared(alice: Client, lab: Cluster) -> None:
    revisions.add_revision(lab, PACKING, user="alice", note="pack")
    rows = alice.get("/clusters/lab/profiles").context["profiles"]
    assert [(row.revision.revision, row.decisions > 0) for row in rows] == [(2, False), (1, True)]
    page = alice.get("/clusters/lab/compare-profiles?before=1&after=2").content.decode()
    assert "weight of NodeResourcesFit" in page and "weight: 7" in page
    one = alice.get("/clusters/lab/profiles/1").content.decode()
    assert "/clusters/lab/decisions?revision=1&amp;result=scheduled" in one
    assert (
        "/clusters/lab/compare-profiles?before=1&amp;after=2"
        in alice.get("/clusters/lab/profiles/2").content.decode()
    )


def test_a_new_revision_starts_from_the_selected_one(alice: Client, lab: Cluster) -> None:
    revisions.add_revision(lab, PACKING, user="alice")
    form = alice.get("/clusters/lab/new-profile?like=1").context["form"]
    assert "weight: 7" not in form.fields["configuration"].initial


def test_a_period_in_the_future_says_so(alice: Client, lab: Cluster) -> None:
    later = (timezone.now() + timedelta(days=2, hours=1)).strftime("%Y-%m-%dT%H:%M:%S")
    answer = alice.get("/clusters/lab/decisions", {"since": "1h", "until": later})
    assert answer.status_code == 200
    words = " ".join(strip_tags(answer.content.decode()).split())
    assert "(1 h ago)" in words and "(in 2 d)" in words
