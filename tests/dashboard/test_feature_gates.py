"""The page of feature gates, and the gates in the editor and in the form for a new cluster."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.cluster.models import Cluster
from apps.engine.models import ConfigurationRevision
from apps.engine.profiles import revisions
from tests.dashboard.test_profile_editor import Editor

pytestmark = pytest.mark.django_db
GATE = "SchedulerPopFromBackoffQ"


def test_a_revision_shows_its_gates(alice: Client, lab: Cluster) -> None:
    text = revisions.BUILT_IN + f"featureGates: {{{GATE}: false, KMSv1: true}}\n"
    revisions.add_revision(lab, text, user="alice", active=False)
    page = alice.get("/clusters/lab/feature-gates?revision=2").content.decode()
    assert f"--feature-gates=KMSv1=true,{GATE}=false" in page
    assert 'id="KMSv1"' in page and 'id="CSIVolumeHealth"' not in page
    active = alice.get("/clusters/lab/feature-gates").content.decode()
    assert "--feature-gates=" not in active and f'id="{GATE}"' in active
    assert 'id="CSIVolumeHealth"' in alice.get("/clusters/lab/feature-gates?all=1").content.decode()
    assert alice.get("/clusters/lab/feature-gates?revision=7").status_code == 404
    compared = alice.get("/clusters/lab/compare-profiles?before=1&after=2").content.decode()
    assert f"feature gate {GATE}" in compared


def test_the_editor_has_a_switch_for_each_gate_with_an_effect(alice: Client, lab: Cluster) -> None:
    editor = Editor(alice, revisions.BUILT_IN)
    text = editor.send(**{f"set:featureGates.{GATE}": "false"})
    assert revisions.check(text).feature_gates == {GATE: False}


def test_a_new_cluster_can_be_adaptive(alice: Client) -> None:
    page = alice.get("/new-cluster").content.decode()
    assert "filtering stops when enough nodes are feasible" in page
    fields = {"way": "generated", "name": "new", "nodes": 2, "zones": 1, "sizes": ""}
    alice.post("/new-cluster", {**fields, "percentage_of_nodes_to_score": "0"})
    revision = ConfigurationRevision.objects.get(cluster__name="new")
    assert revisions.load_configuration(revision).percentage_of_nodes_to_score == 0
