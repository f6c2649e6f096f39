"""A pasted cluster: its questions are answered, and nothing of it is stored."""

from __future__ import annotations

import pytest
import yaml
from django.test import Client

from apps.administration.pasted.confined import ask_confined
from apps.cluster.errors import BadRequest
from apps.cluster.manifests.text_files import Text
from apps.cluster.models import Change, Cluster
from apps.people.models import AuditEntry
from tests.dashboard.conftest import shown

pytestmark = pytest.mark.django_db(transaction=True)

LIST = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        *(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": f"n{number}", "labels": {"disk": "ssd" if number else "none"}},
                "status": {
                    name: {"cpu": "4", "memory": "8Gi", "pods": "10"}
                    for name in ("capacity", "allocatable")
                },
            }
            for number in range(3)
        ),
        *(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": "shop"},
                "spec": {
                    **spec,
                    "containers": [
                        {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
                    ],
                },
            }
            for name, cpu, spec in (
                ("web-0", "1", {"nodeName": "n0"}),
                ("web-1", "1", {"nodeName": "n1"}),
                ("huge-0", "16", {}),
                ("huge-1", "16", {}),
                ("tape", "1", {"nodeSelector": {"disk": "tape"}}),
                ("new", "1", {}),
            )
        ),
    ],
}
TEXT = yaml.safe_dump(LIST)
WITHOUT_FIT = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}
"""


def test_a_pasted_cluster_is_asked_and_not_kept(alice: Client) -> None:
    changes, audited = Change.objects.count(), AuditEntry.objects.count()
    page = shown(alice, "/paste")
    assert "Nothing of it is stored" in page
    answer = alice.post("/paste", {"manifest": TEXT, "configuration": WITHOUT_FIT})
    text = " ".join(answer.content.decode().split())
    assert "2 pods in shop" in text and "needs 16 cpu; the largest node has 4" in text
    assert "NodeResourcesFit alone keeps it from 3 nodes" in text
    assert "NodeAffinity alone keeps it from 3 nodes" in text
    defaults, given = answer.context["answer"]["profiles"]
    assert (defaults["placed"], defaults["not_placed"]) == (1, 3)
    assert (given["placed"], given["not_placed"]) == (3, 1)
    assert len(defaults["spare"]) == 2
    assert not Cluster.objects.exists()
    assert (Change.objects.count(), AuditEntry.objects.count()) == (changes, audited)


def test_what_is_wrong_is_said_at_its_field(alice: Client) -> None:
    for given, field, told in (
        ({"manifest": "kind: Pod"}, "manifest", "apiVersion"),
        ({"manifest": TEXT, "configuration": "profiles: 1"}, "configuration", "kind: Required"),
        ({"manifest": ""}, "manifest", "This field is required"),
    ):
        answer = alice.post("/paste", given)
        assert answer.status_code == 422, given
        assert told in str(answer.context["form"].errors[field]), given


def test_a_cluster_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(BadRequest, match="manifest: the cluster takes more than 0 s"):
        ask_confined([Text("", TEXT)], "", user="alice", seconds=0)


def test_keeping_it_leads_to_the_form_of_a_new_cluster(alice: Client) -> None:
    kept = alice.post("/new-cluster", {"way": "yaml", "manifest": TEXT})
    assert kept.status_code == 422 and "huge-1" in kept.content.decode()
