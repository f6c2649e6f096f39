"""Finding decisions: every filter finds what it says, by an index."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster, Pod
from apps.cluster.writes import Create
from apps.cluster.writing import store
from apps.engine.ledger import finding
from apps.engine.loop import clock
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from tests.engine.driving import ACTOR, create_pods, node_of, pod, run_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def lab(transactional_db: None) -> Cluster:
    """Two nodes full of low-priority pods; vip evicts one of them, big fits nowhere."""
    cluster = create_cluster("lab", user="tests", nodes=2, tie_break="first-name")
    clock.set_manual(cluster)
    low = {"metadata": {"name": "vip"}, "value": 1000}
    store.write(cluster, [Create(kinds.PRIORITY_CLASS, low)], actor=ACTOR)
    create_pods(cluster, pod("web-0", cpu="6"), pod("web-1", cpu="6"))
    engines = Engines()
    engines.run(cluster.pk)
    create_pods(cluster, pod("vip", cpu="4", priorityClassName="vip"), pod("big", cpu="64"))
    engines.run(cluster.pk)
    clock.advance(cluster, 60)
    run_until(engines, cluster, lambda: node_of(cluster, "vip"))
    return cluster


def names(cluster: Cluster | None = None, **query: Any) -> list[str]:
    found = finding.find(finding.parse(query), cluster_id=cluster and cluster.pk)
    return [row.name for row in found]


FOUND: list[tuple[dict[str, str], set[str]]] = [
    ({}, {"web-0", "web-1", "vip", "big"}),
    ({"pod": "web-0"}, {"web-0"}),
    ({"pod": "default/web-0"}, {"web-0"}),
    ({"pod": "other/web-0"}, set()),
    ({"pod": "web-*"}, {"web-0", "web-1"}),
    ({"pod": "default/*eb-1*"}, {"web-1"}),
    ({"pod": "*-1"}, {"web-1"}),
    ({"pod": "w%"}, set()),
    ({"namespace": "default"}, {"web-0", "web-1", "vip", "big"}),
    ({"node": "node-0"}, {"web-0", "vip"}),
    ({"profile": "default-scheduler", "revision": "1"}, {"web-0", "web-1", "vip", "big"}),
    ({"revision": "2"}, set()),
    ({"result": "unschedulable"}, {"vip", "big"}),
    ({"plugin": "NodeResourcesFit"}, {"web-1", "vip", "big"}),
    ({"plugin": "TaintToleration"}, set()),
    ({"reason": "Insufficient cpu"}, {"web-1", "vip", "big"}),
    ({"reason": "Insufficient"}, set()),
    ({"victim": "default/web-0"}, {"vip"}),
    ({"victim": "*"}, {"vip"}),
    ({"attempt": "1"}, {"web-0", "web-1", "vip", "big"}),
    ({"min_attempt": "2"}, {"vip", "big"}),
    ({"since": "2000-01-01T00:00:00Z"}, {"web-0", "web-1", "vip", "big"}),
    ({"until": "2000-01-01T00:00:00+01:00"}, set()),
    ({"text": "insufficient cpu"}, {"vip", "big"}),
    ({"text": "insufficient memory"}, set()),
    ({"text": '"not helpful"'}, {"big"}),
    ({"text": "cpu -helpful"}, {"vip"}),
]


def test_a_filter_finds_what_it_says(lab: Cluster) -> None:
    for query, wanted in FOUND:
        assert set(names(lab, **query)) == wanted, query


def test_a_pod_is_told_from_another_of_its_name(lab: Cluster) -> None:
    uid = Pod.objects.get(cluster=lab, name="big").uid
    assert set(names(lab, pod_uid=str(uid))) == {"big"}
    assert names(lab, pod_uid=str(lab.uid)) == []


def test_the_newest_come_first_and_an_id_leads_on(lab: Cluster) -> None:
    rows = list(finding.find(finding.DecisionFilters(), cluster_id=lab.pk))
    ids = [row.pk for row in rows]
    assert ids == sorted(ids, reverse=True)
    older = finding.find(finding.DecisionFilters(), cluster_id=lab.pk).filter(pk__lt=ids[1])
    assert [row.pk for row in older] == ids[2:]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"result": "odd"}, "result: 'odd' is not one of scheduled, unschedulable, error"),
        ({"revision": "-1"}, "revision: '-1' is not a whole number"),
        ({"attempt": "9999999999"}, "attempt: .* is not a whole number"),
        ({"since": "tomorrow"}, "since: 'tomorrow' is not a time: use"),
        ({"pod_uid": "x"}, "pod_uid: 'x' is not a UUID"),
        ({"text": "a\x00b"}, "text: holds a NUL character"),
    ],
)
def test_a_wrong_filter_is_named(query: dict[str, str], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        finding.parse(query)


ROWS = 6000
#: Of these rows few answer to each of RARE; the others are like each other.
_MANY = """
    INSERT INTO controlplane_schedulingdecision ({others}, name, node, attempt, result, at,
        profile_revision, unschedulable_plugins, reasons, victims, message)
    SELECT {others}, 'pod-' || n %% 2000, 'node-' || n %% 1000, CASE WHEN n < 4 THEN 60 ELSE 1 END,
        CASE WHEN n < 4 THEN 'error' ELSE 'scheduled' END, at + make_interval(secs => n),
        CASE WHEN n < 4 THEN 2 ELSE 1 END,
        CASE WHEN n < 4 THEN ARRAY['NodeName'] ELSE unschedulable_plugins END,
        CASE WHEN n < 4 THEN ARRAY['no such node'] ELSE reasons END,
        CASE WHEN n < 4 THEN ARRAY['default/old'] ELSE '{{}}' END,
        CASE WHEN n < 4 THEN 'failed for a rare cause' ELSE message END
    FROM controlplane_schedulingdecision, generate_series(1, %s) AS n WHERE id = %s
"""
RARE: list[dict[str, str]] = [
    {"pod": "default/pod-77"},
    {"pod": "pod-177*"},
    {"node": "node-77"},
    {"revision": "2"},
    {"result": "error"},
    {"plugin": "NodeName"},
    {"reason": "no such node"},
    {"victim": "default/old"},
    {"since": "2000-01-01T00:00:00Z", "until": "2000-01-01T00:00:05Z"},
    {"attempt": "60"},
    {"min_attempt": "50"},
    {"text": "rare cause"},
]


def rows_looked_at(plan: dict[str, Any]) -> int:
    """Rows that some step of the plan gave on, or threw away."""
    thrown = sum(plan.get(f"Rows Removed by {what}", 0) for what in ("Filter", "Index Recheck"))
    inner = sum(rows_looked_at(each) for each in plan.get("Plans", ()))
    return int(plan["Actual Rows"] * plan["Actual Loops"]) + int(thrown) + inner


def test_what_is_rare_is_found_without_reading_the_rest(lab: Cluster) -> None:
    like = SchedulingDecision.objects.filter(name="web-1").latest("id")
    own = "name node attempt result at profile_revision unschedulable_plugins reasons victims"
    others = ", ".join(
        f'"{field.column}"'
        for field in SchedulingDecision._meta.concrete_fields
        if field.column not in ("id", "message", *own.split())
    )
    with connection.cursor() as cursor:
        cursor.execute(_MANY.format(others=others), [ROWS, like.pk])
        cursor.execute("ANALYZE controlplane_schedulingdecision")
    for query in RARE:
        rows = finding.find(finding.parse(query), cluster_id=lab.pk)[:50]
        plan = json.loads(rows.explain(analyze=True, format="json"))[0]["Plan"]
        assert rows_looked_at(plan) < ROWS / 10, (query, plan)


def test_what_was_said_and_who_had_to_go_is_kept_in_the_row(lab: Cluster) -> None:
    first, *_ = SchedulingDecision.objects.filter(name="vip").order_by("id")
    assert first.reasons == ["Insufficient cpu"]
    assert first.victims == ["default/web-0"]
    assert (first.nominated_node, first.node) == ("node-0", "")
