"""A span as a film: each frame is the state of its moment, and tells what happened."""

from __future__ import annotations

from datetime import timedelta

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.cluster.node_changes import change_nodes, cordon
from apps.cluster.writes import Actor
from apps.engine.loop import clock
from apps.engine.loop.engines import Engines
from apps.engine.periods import Period
from apps.studies import film
from apps.studies.film import read_film
from apps.studies.past.snapshots import snapshots
from tests.engine.driving import create_pods, pod

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cluster(transactional_db: None) -> Cluster:
    """Two minutes: two pods at the start, a cordon after one minute, then a pod too large."""
    cluster = create_cluster("lab", user="alice", nodes=2, tie_break="first-name")
    clock.set_manual(cluster)
    clock.advance(cluster, 30)
    create_pods(cluster, pod("a", cpu="2"), pod("b", cpu="2"))
    Engines().run(cluster.pk)
    clock.advance(cluster, 60)
    change_nodes(cluster, ["node-1"], cordon(True), actor=Actor("alice"))
    create_pods(cluster, pod("huge", cpu="99"))
    Engines().run(cluster.pk)
    clock.advance(cluster, 30)
    Engines().run(cluster.pk)
    cluster.refresh_from_db()
    return cluster


def whole(cluster: Cluster) -> Period:
    return Period(cluster.now() - timedelta(seconds=110.5), cluster.now())


def test_frames_add_up_to_the_state_of_each_moment(cluster: Cluster) -> None:
    found = read_film(cluster, whole(cluster))
    assert found.names == ["node-0", "node-1"] and sum(size for _, size in found.groups) == 2
    assert len(found.frames) == 112 <= film.FRAMES
    cells: dict[int, tuple[int, int]] = {}
    for frame in found.frames:
        cells |= {index: (share, state) for index, share, state in frame.cells}
        snapshot = snapshots.at(cluster, frame.version)
        for node in snapshot.nodes.values():
            requested = snapshot.requested.get(node.name, {}).get("cpu", 0)
            expected = 1000 * requested // node.allocatable["cpu"]
            assert cells[found.names.index(node.name)] == (expected, int(node.unschedulable))
        assert frame.bound == sum(bool(each.node) for each in snapshot.pods.values())
        assert frame.pending == sum(not each.node for each in snapshot.pods.values())
    told = [(line.user, line.text) for frame in found.frames for line in frame.lines]
    assert told == [
        ("tests", "2 pods created"),
        ("kube-scheduler", "2 pods bound"),
        ("alice", "node-1 cordoned"),
        ("tests", "pod default/huge created"),
    ]
    waiting = found.frames[-1].queue[found.parts.index("unschedulable")]
    assert (found.frames[0].pending, found.frames[-1].pending, waiting) == (0, 1, 1)


def test_a_film_is_bounded(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadRequest, match="since: is required"):
        read_film(cluster, Period())
    life = read_film(cluster, Period(cluster.created_at - timedelta(days=1)))
    assert life.since >= cluster.created_at, "it starts with the first state"
    monkeypatch.setattr(film, "FRAMES", 20)
    assert len(read_film(cluster, whole(cluster)).frames) == 21
    monkeypatch.setattr(film, "MOST_CHANGES", 3)
    with pytest.raises(BadRequest, match="at most 3 changes of nodes and pods; .*end it there"):
        read_film(cluster, whole(cluster))
