"""Decisions by workload, which the ledger records, and by day of the user's time zone."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.engine.ledger import completion, finding
from apps.engine.ledger.aggregating import aggregate
from apps.engine.ledger.grouping import parse_grouping, select_group
from apps.engine.loop.engines import Engines
from tests.engine.driving import create_pods, pod

pytestmark = pytest.mark.django_db(transaction=True)


def owned(name: str, kind: str, owner: str) -> dict[str, Any]:
    """A pod whose controller is a ReplicaSet of a Deployment, or another workload."""
    body = pod(name)
    uid = f"00000000-0000-0000-0000-{abs(hash(owner)) % 10**12:012}"
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": uid}
    body["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
    body["metadata"]["labels"] = {"pod-template-hash": owner.rpartition("-")[2]}
    return body


@pytest.fixture
def lab(transactional_db: None) -> Cluster:
    # without controllers, which would delete pods of owners that do not exist
    cluster = create_cluster("lab", user="tests", nodes=1, controllers=False)
    create_pods(
        cluster,
        owned("web-1", "ReplicaSet", "web-6f7"),
        owned("web-2", "ReplicaSet", "web-9c8"),
        owned("import-1", "Job", "import"),
        pod("alone"),
    )
    Engines().run(cluster.pk)
    return cluster


def test_decisions_are_grouped_by_the_controller_of_the_pod(lab: Cluster) -> None:
    by, present = parse_grouping("workload"), finding.DecisionFilters()
    found = aggregate(present, by, cluster_id=lab.pk)
    counts = {by[0].show(group.keys[0]): group.decisions for group in found.groups}
    assert counts == {
        "default/Deployment/web": 2,
        "default/Job/import": 1,
        "default: pods without a workload": 1,
    }
    for group in found.groups:
        filters = finding.parse(select_group(group.keys, by, present))
        assert finding.find(filters, cluster_id=lab.pk).count() == group.decisions
    assert completion.complete(lab, "workload", "we") == ["Deployment/web"]
    assert completion.complete(lab, "workload", "") == ["Deployment/web", "Job/import"]
    assert completion.complete(lab, "workload", "depl") == ["Deployment/web"]


def test_pods_of_a_namespace_are_completed_whatever_others_are_called(lab: Cluster) -> None:
    """More pods of another namespace come first by name than are suggested."""
    store.create(lab, kinds.NAMESPACE, {"metadata": {"name": "shop"}}, actor=Actor("alice"))
    create_pods(lab, *(pod(f"a-{number:02}") for number in range(25)))
    pods = [Create(kinds.POD, pod(name), "shop") for name in ("a-99", "cart")]
    store.write(lab, pods, actor=Actor("alice"))
    Engines().run(lab.pk)
    assert completion.complete(lab, "pod", "shop/") == ["shop/a-99", "shop/cart"]
    assert completion.complete(lab, "pod", "shop/a") == ["shop/a-99"]
    assert completion.complete(lab, "pod", "sh") == ["shop/*"]
    everything = finding.find(finding.parse({"pod": "shop/*"}), cluster_id=lab.pk)
    assert everything.count() == 2


def test_a_day_is_one_of_the_users_time_zone(lab: Cluster) -> None:
    by, zone = parse_grouping("day"), ZoneInfo("Pacific/Kiritimati")
    with timezone.override(zone):
        group, *_ = aggregate(finding.DecisionFilters(), by, cluster_id=lab.pk).groups
    chosen = select_group(group.keys, by, finding.DecisionFilters())
    since, until = (datetime.fromisoformat(chosen[name]) for name in ("since", "until"))
    assert since.astimezone(zone).time() == time(0) and until - since == timedelta(days=1)
    assert since <= group.first <= group.last < until
    # a group selects no more than the filters do
    noon = {"until": (since + timedelta(hours=12)).isoformat()}
    narrowed = select_group(group.keys, by, finding.parse(noon))
    assert datetime.fromisoformat(narrowed["until"]) == since + timedelta(hours=12)
