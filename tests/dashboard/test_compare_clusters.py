"""Clusters side by side."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import limits
from apps.cluster.models import Cluster
from apps.engine.profiles import revisions
from tests.dashboard.conftest import shown

pytestmark = pytest.mark.django_db
ADDRESS = "/compare-clusters?cluster=lab&cluster=bare"


def test_state_usage_configuration_and_settings_are_compared(
    alice: Client, lab: Cluster, empty: Cluster
) -> None:
    text = revisions.BUILT_IN + (
        "  plugins: {score: {enabled: [{name: ImageLocality, weight: 9}]}}\n"
    )
    revisions.add_revision(empty, text, user="alice", name="images")
    page = alice.get(ADDRESS)
    sections = {
        each.title: {row.name: row for row in each.rows}
        for each in page.context["comparison"].sections
    }
    assert list(sections["State"]["nodes"].values) == [4, 0]
    assert sections["State"]["pods unschedulable"].differs
    cpu = sections["Requested of allocatable"]["cpu"].uses
    assert cpu[0].requested > 0 and cpu[1].allocatable == 0
    assert list(sections["Scheduler configuration"]["active revision"].values) == ["1", "2 images"]
    profile = sections["Profile default-scheduler"]
    assert list(profile["weight of ImageLocality"].values) == ["1", "9"]
    assert not profile["filter"].differs
    assert not profile["arguments of NodeResourcesFit: scoringStrategy.type"].differs
    assert sections["Settings"]["Ties"].differs
    text = page.content.decode()
    settings = text[text.index("Profile default-scheduler") :]
    order = [settings.index(word) for word in ("weight of ImageLocality", "that are equal")]
    assert order == sorted(order) and settings.index("weight of NodeAffinity") > order[1]
    assert "nodes not ready" in text[: text.index("that are equal")], "a state is read anyway"
    alone = alice.get("/compare-clusters?cluster=lab").content.decode()
    assert "weight of NodeAffinity" in alone and "that are equal" not in alone


def test_the_number_of_queries_is_bounded(
    alice: Client,
    lab: Cluster,
    empty: Cluster,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_max_num_queries(20):
        alice.get(ADDRESS)


def test_only_differences_are_shown_on_request(alice: Client, lab: Cluster, empty: Cluster) -> None:
    page = shown(alice, f"{ADDRESS}&show=differences")
    assert "pods bound" in page and "arguments of NodeResourcesFit" not in page
    assert ">No difference.<" in page


def test_the_page_of_clusters_leads_to_it(alice: Client, lab: Cluster, empty: Cluster) -> None:
    page = alice.get("/").content.decode()
    assert 'form="compare"' in page and "Compare selected" in page
    assert "at least two clusters" in alice.get("/compare-clusters?cluster=lab").content.decode()
    unknown = alice.get("/compare-clusters?cluster=lab&cluster=nowhere")
    assert unknown.status_code == 404 and "nowhere" in unknown.content.decode()


def test_a_name_that_is_repeated_hides_no_cluster_from_the_check() -> None:
    carol = User.objects.create_user("carol")
    User.objects.create_user("bob")
    create_cluster("mine", user="carol")
    create_cluster("secret", user="bob")
    browser = Client()
    browser.force_login(carol)
    repeated = "&".join(["cluster=mine"] * limits.COMPARED_CLUSTERS.highest)
    assert browser.get(f"/compare-clusters?{repeated}").status_code == 200
    answer = browser.get(f"/compare-clusters?{repeated}&cluster=secret")
    assert answer.status_code == 404
