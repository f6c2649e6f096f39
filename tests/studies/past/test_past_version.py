"""The cluster at a past moment: the same as was there, with clear errors where it is not known."""

from __future__ import annotations

from datetime import timedelta

import pytest

from apps.cluster.errors import ApiError
from apps.cluster.log.forgetting import forget_changes
from apps.cluster.models import Change, Cluster
from apps.engine.loop.engines import Engines
from apps.engine.models import QueueMove, SchedulingDecision
from apps.engine.periods import format_utc
from apps.engine.queries import list_decisions
from apps.studies.past.listing import list_nodes, list_pods
from apps.studies.past.overview import ResourceUsage, read_overview
from apps.studies.past.past_version import (
    BeforeBeginning,
    parse_past_version,
    parse_version_or_time,
    read_life,
)
from apps.studies.past.snapshot_differences import find_node_differences, find_pod_differences
from apps.studies.past.snapshots import Snapshots, read_snapshot
from tests.engine.driving import create_pods, pod
from tests.studies.past.conftest import Past

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_moment_has_the_nodes_pods_usage_and_queue_of_then(past: Past) -> None:
    cluster = past.cluster
    moment = parse_past_version(cluster, {"version": str(past.before)})
    then = read_overview(cluster, moment)
    assert (then.nodes.total, then.nodes.ready, then.nodes.unschedulable) == (3, 3, 0)
    assert (then.pods.total, then.pods.bound, then.pods.pending) == (4, 3, 1)
    cpu, _memory, pods = then.usage[:3]
    assert cpu == ResourceUsage("cpu", 3000, 24000) and pods.requested == 3
    assert then.queue[QueueMove.Place.UNSCHEDULABLE] == 1 and then.queue_since is None
    assert then.revision == 1 and then.decision is not None and not then.is_now
    now = read_overview(cluster, parse_past_version(cluster, {}))
    assert (now.nodes.total, now.nodes.unschedulable) == (4, 1) and now.is_now
    assert now.usage[0] == ResourceUsage("cpu", 2000 + 9000, 40000)
    waiting = list_pods(then.snapshot, {"state": "pending"})
    assert [pod.name for pod in waiting] == ["waits"]
    assert [pod.name for pod in list_pods(then.snapshot, {"node": "node-1"})] == ["stays"]
    assert list_nodes(then.snapshot, {"state": "cordoned"}) == []
    assert [node.name for node in list_nodes(now.snapshot, {"state": "cordoned"})] == ["node-0"]


def test_a_time_is_the_version_of_then(past: Past) -> None:
    cluster, changes = past.cluster, Change.objects.filter(cluster=past.cluster)
    last = changes.get(version=past.before)
    found = parse_past_version(cluster, {"at": last.at.isoformat()})
    assert found.version == changes.filter(at__lte=last.at).latest("version").version
    life = read_life(cluster)
    assert life.first.version == changes.earliest("version").version
    assert life.now.version == past.after
    just_before = (life.first.at - timedelta(milliseconds=1)).isoformat()
    for query, code, message in (
        ({"version": "999999"}, 400, f"the newest version is {past.after}"),
        ({"version": "-1"}, 400, "is not a whole number"),
        ({"at": "2999-01-01"}, 400, "in the future"),
        ({"at": just_before}, 400, f"at={format_utc(life.first.at)}"),
        ({"decision": "999999999"}, 404, "not found"),
        ({"version": "1", "at": "now"}, 400, "cannot be combined"),
    ):
        with pytest.raises(ApiError) as refused:
            parse_past_version(cluster, query)
        assert refused.value.code == code and message in refused.value.message
    # what the error names works, and a span that begins before begins there
    with pytest.raises(BeforeBeginning) as early:
        parse_past_version(cluster, {"at": just_before})
    earliest = early.value.earliest
    assert parse_past_version(cluster, {"at": format_utc(earliest.at)}).version == earliest.version
    assert f"version {earliest.version}, at={format_utc(earliest.at)}" in early.value.message
    started = parse_version_or_time(cluster, {"since": just_before}, "since", starts=True)
    assert started == earliest
    for value, message in (("", "from: is required"), ("99999", "from: 99999 is in the future")):
        with pytest.raises(ApiError, match=message):
            parse_version_or_time(cluster, {"from": value}, "from")


def test_what_was_decided_after_a_clock_was_set_back_is_later(past: Past) -> None:
    cluster = past.cluster
    newest = SchedulingDecision.objects.filter(cluster=cluster).latest("id")
    before = parse_past_version(cluster, {"version": str(past.after)})
    Cluster.objects.filter(pk=cluster.pk).update(manual_time=before.at)
    create_pods(cluster, pod("earlier", cpu="64"))
    Engines().run(cluster.pk)
    later = SchedulingDecision.objects.get(name="earlier")
    assert later.at == before.at
    assert list_decisions(cluster)[0] == later
    assert read_overview(cluster, before).decision == newest.pk


def test_a_moment_that_retention_has_deleted_is_gone(past: Past) -> None:
    while forget_changes(past.cluster.pk, past.before + 1):
        pass
    past.cluster.refresh_from_db()
    for query in ({"version": str(past.before)}, {"version": "1"}):
        with pytest.raises(ApiError) as refused:
            parse_past_version(past.cluster, query)
        assert refused.value.code == 410
        assert f"the earliest moment is version {past.before + 1}, at=" in refused.value.message
        assert "no longer reaches back" in refused.value.message
    kept = parse_past_version(past.cluster, {"version": str(past.before + 1)})
    assert read_overview(past.cluster, kept).pods.total == 4
    assert read_life(past.cluster).first.version == past.before + 1


def test_two_moments_differ_pod_by_pod_and_node_by_node(past: Past) -> None:
    memory = Snapshots()
    before = memory.at(past.cluster, past.before)
    after = memory.at(past.cluster, past.after)
    found = {each.name: each for each in find_pod_differences(before, after)}
    changes = {name: each.change.value for name, each in found.items()}
    assert changes == {
        "comes": "created",
        "leaves": "deleted",
        "moves": "moved",
        "waits": "bound",
    }
    moved = found["moves"]
    assert moved.before is not None and moved.before.node == "node-0"
    assert moved.after is not None and moved.after.node != "node-0"
    nodes = {each.name: each for each in find_node_differences(before, after)}
    assert {name: each.change.value for name, each in nodes.items()} == {
        "large": "added",
        "node-0": "changed",
    }
    fields = {each.field: (each.before, each.after) for each in nodes["node-0"].fields_changed}
    assert fields["unschedulable"] == (False, True)
    back = {each.name: each.change.value for each in find_pod_differences(after, before)}
    assert (back["comes"], back["leaves"]) == ("deleted", "created")
    assert not find_pod_differences(after, after) and not find_node_differences(after, after)


def test_a_snapshot_in_memory_equals_one_that_is_read_anew(past: Past) -> None:
    """Versions that other snapshots have are shared, and the same as in the log."""
    memory = Snapshots()
    for version in range(past.before - 3, past.after + 1):
        found = memory.at(past.cluster, version)
        assert found == read_snapshot(past.cluster, version, {})
    first, second = (memory.at(past.cluster, past.after - step) for step in (1, 0))
    uid = next(uid for uid, pod in second.pods.items() if pod.name == "stays")
    assert first.pods[uid] is second.pods[uid]
