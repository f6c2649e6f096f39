"""Creating, pausing and deleting clusters."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.cluster.models import Cluster, Node

pytestmark = pytest.mark.django_db

NEW = {
    "name": "mine",
    "nodes": "4",
    "zones": "2",
    "tie_break": "first-name",
    "seed": "7",
    "pod_max_in_unschedulable_pods_seconds": "60",
}


def test_a_cluster_is_created_as_the_form_says(alice: Client) -> None:
    response = alice.post("/new-cluster", {**NEW, "paused": "on"}, follow=True)
    created = Cluster.objects.get(name="mine")
    assert (created.paused, created.tie_break, created.seed) == (True, "first-name", 7)
    assert created.pod_max_in_unschedulable_pods_seconds == 60
    zones = Node.objects.filter(cluster=created).values_list(
        "labels__topology.kubernetes.io/zone", flat=True
    )
    assert sorted(zones) == ["zone-1", "zone-1", "zone-2", "zone-2"]
    assert "Cluster mine created." in response.content.decode()


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("name", "Not A Name", "lower-case letters"),
        ("name", "", "required"),
        ("nodes", "-1", "greater than or equal to 0"),
        ("nodes", "many", "whole number"),
        ("zones", "0", "greater than or equal to 1"),
        ("tie_break", "dice", "valid choice"),
    ],
)
def test_an_error_is_shown_at_its_field(
    alice: Client, field: str, value: str, problem: str
) -> None:
    response = alice.post("/new-cluster", {**NEW, field: value})
    assert response.status_code == 422
    page = response.content.decode()
    assert problem in page[page.index(f'id="id_{field}_error"') :][:400]
    assert not Cluster.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "unfolded"), [("name", "Lab", 0), ("ledger_max_days", "-1", 1)]
)
def test_settings_are_unfolded_for_a_mistake_among_them(
    alice: Client, field: str, value: str, unfolded: int
) -> None:
    page = alice.post("/new-cluster", {**NEW, field: value})
    assert page.status_code == 422
    assert page.content.decode().count("<details open>") == unfolded


def test_a_name_in_use_is_an_error_of_the_name(alice: Client, empty: Cluster) -> None:
    response = alice.post("/new-cluster", {**NEW, "name": "bare"})
    page = response.content.decode()
    assert response.status_code == 422
    assert "already exists" in page[page.index('id="id_name_error"') :][:400]


def test_pausing_and_resuming_returns_to_the_page_one_was_on(alice: Client, empty: Cluster) -> None:
    response = alice.post("/clusters/bare/pause", {"next": "/?page=1"})
    assert response.headers["Location"] == "/?page=1"
    assert "paused" in alice.get("/").content.decode()
    assert alice.post("/clusters/bare/resume").headers["Location"] == "/clusters/bare"
    empty.refresh_from_db()
    assert not empty.paused


@pytest.mark.parametrize("elsewhere", ["https://example.com", "//example.com", "/\\example.com"])
def test_a_button_does_not_redirect_to_another_site(
    alice: Client, empty: Cluster, elsewhere: str
) -> None:
    response = alice.post("/clusters/bare/pause", {"next": elsewhere})
    assert response.headers["Location"] == "/clusters/bare"


def test_deleting_shows_the_consequences_and_requires_the_name(
    alice: Client, empty: Cluster
) -> None:
    page = alice.get("/clusters/bare/delete").content.decode()
    assert "0 nodes and 0 pods" in page and "its decisions, changes, events" in " ".join(
        page.split()
    )
    refused = alice.post("/clusters/bare/delete", {"name": "bar"})
    assert refused.status_code == 422 and Cluster.objects.exists()
    response = alice.post("/clusters/bare/delete", {"name": "bare"}, follow=True)
    assert not Cluster.objects.exists()
    assert "Cluster bare deleted." in response.content.decode()


def test_settings_are_changed_while_the_cluster_exists(alice: Client, empty: Cluster) -> None:
    address = "/clusters/bare/settings"
    assert 'value="300"' in alice.get(address).content.decode()
    wrong = alice.post(address, {"pod_max_in_unschedulable_pods_seconds": "0"})
    assert wrong.status_code == 422
    changed = {
        "pod_max_in_unschedulable_pods_seconds": "60",
        "scheduling": "built-in",
        "event_ttl_seconds": "600",
        "controllers": "on",
    }
    page = alice.post(address, changed, follow=True).content.decode()
    assert "Settings of cluster bare updated." in page
    empty.refresh_from_db()
    assert empty.pod_max_in_unschedulable_pods_seconds == 60
    assert (empty.controllers, empty.kubelet) == (True, False)


def test_retention_is_set_on_the_page_of_settings(alice: Client, empty: Cluster) -> None:
    address = "/clusters/bare/settings"
    others = {
        "scheduling": "built-in",
        "pod_max_in_unschedulable_pods_seconds": "300",
        "event_ttl_seconds": "3600",
    }
    assert "site default: 90" in alice.get(address).content.decode()
    chosen = {**others, "ledger_max_days": "7", "changelog_covers_ledger": "False"}
    assert alice.post(address, chosen).status_code == 302
    empty.refresh_from_db()
    assert (empty.ledger_max_days, empty.ledger_max_decisions) == (7, None)
    assert empty.changelog_covers_ledger is False
    page = alice.get(address).content.decode()
    assert 'value="7"' in page and '<option value="False" selected>' in page
    assert alice.post(address, {**others, "ledger_max_days": "-1"}).status_code == 422
    # empty fields have the default of the site again
    assert alice.post(address, others).status_code == 302
    empty.refresh_from_db()
    assert (empty.ledger_max_days, empty.changelog_covers_ledger) == (None, None)


def test_admission_plugins_are_switched_on_with_their_parameters(
    alice: Client, empty: Cluster
) -> None:
    address = "/clusters/bare/settings"
    settings = {
        "scheduling": "built-in",
        "pod_max_in_unschedulable_pods_seconds": "300",
        "event_ttl_seconds": "3600",
    }
    chosen = {
        **settings,
        "ExtendedResourceToleration": "on",
        "DedicatedNodes": "on",
        "DedicatedNodes_parameters": "groups: {gpu-team: {namespaces: [ml]}}",
        "NodeRestriction_parameters": "kubelets: [bob]",
    }
    assert alice.post(address, chosen).status_code == 302
    empty.refresh_from_db()
    # the parameters of a disabled plugin are not stored
    assert empty.admission_plugins == {
        "ExtendedResourceToleration": {},
        "DedicatedNodes": {"groups": {"gpu-team": {"namespaces": ["ml"]}}},
    }
    assert "gpu-team" in alice.get(address).content.decode()
    wrong = alice.post(address, {**chosen, "DedicatedNodes_parameters": "effect: Sometimes"})
    page = wrong.content.decode()
    assert wrong.status_code == 422 and "supported values: &quot;NoSchedule&quot;" in page
    assert alice.post(address, {**chosen, "DedicatedNodes_parameters": "- a"}).status_code == 422
    empty.refresh_from_db()
    assert "groups" in empty.admission_plugins["DedicatedNodes"]
