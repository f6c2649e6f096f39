"""Converting an older scheduler configuration on the page of a new revision."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Cluster

pytestmark = pytest.mark.django_db
POLICY = """
{"kind": "Policy", "apiVersion": "v1",
 "predicates": [{"name": "PodFitsResources"}],
 "priorities": [{"name": "SelectorSpreadPriority", "weight": 3}, {"name": "Magic", "weight": 1}]}
"""


@pytest.fixture
def lab(db: None) -> Cluster:
    return create_cluster("lab", user="tests", paused=True)


def test_a_policy_is_converted_to_v1_with_notes_on_omitted_fields(
    alice: Client, lab: Cluster
) -> None:
    answer = alice.post("/clusters/lab/new-profile", {"configuration": POLICY, "convert": "1"})
    shown = answer.content.decode()
    assert answer.status_code == 200
    assert "apiVersion: kubescheduler.config.k8s.io/v1" in shown
    assert "Magic is unknown and is left out" in shown
    assert 'name="legacy"' in shown and "checked" in shown
    assert lab.configurationrevision_set.count() == 1


def test_the_import_page_offers_the_same(alice: Client, lab: Cluster) -> None:
    assert "/clusters/lab/new-profile" in alice.get("/clusters/lab/import").content.decode()
    answer = alice.post("/clusters/lab/new-profile", {"manifest": POLICY, "convert": "1"})
    assert "apiVersion: kubescheduler.config.k8s.io/v1" in answer.content.decode()


def test_an_invalid_configuration_is_an_error_of_the_field(alice: Client, lab: Cluster) -> None:
    answer = alice.post(
        "/clusters/lab/new-profile", {"configuration": "kind: Shoe", "convert": "1"}
    )
    assert answer.status_code == 422
    assert "Shoe" in answer.content.decode()
