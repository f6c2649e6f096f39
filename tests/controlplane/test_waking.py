"""A wake-up of the loop is sent once for all that happens before the loop has looked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apps.cluster import kinds, store
from apps.cluster.announce import announcer, wake_hooks
from apps.cluster.models import Cluster
from apps.controlplane.clusters import create_cluster, pause, resume
from apps.controlplane.engines import Engines
from tests.controlplane.loop import ACTOR, pod

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def quiet() -> Cluster:
    """A cluster whose loop has seen everything."""
    cluster = create_cluster("lab", user="tests", nodes=1)
    Engines().run(cluster.pk)
    assert announcer.flush(10)
    return cluster


@pytest.fixture
def woken() -> Iterator[list[int]]:
    """The ids of the clusters that were woken, one entry for each wake-up."""
    heard: list[int] = []
    wake_hooks.append(heard.append)
    yield heard
    wake_hooks.remove(heard.append)


def create_one_by_one(cluster: Cluster, count: int) -> None:
    for number in range(count):
        store.create(cluster, kinds.POD, pod(f"p{number}"), actor=ACTOR, namespace="default")
    assert announcer.flush(10)


def test_many_posts_are_one_wake_up(quiet: Cluster, woken: list[int]) -> None:
    create_one_by_one(quiet, 30)
    assert woken == [quiet.pk]


def test_the_next_change_after_the_loop_was_quiet_wakes_it_again(
    quiet: Cluster, woken: list[int]
) -> None:
    create_one_by_one(quiet, 2)
    Engines().run(quiet.pk)
    store.delete(quiet, kinds.POD, "default", "p0", actor=ACTOR)
    assert announcer.flush(10)
    assert woken == [quiet.pk] * 2


def test_a_paused_cluster_is_woken_when_it_is_resumed(quiet: Cluster, woken: list[int]) -> None:
    pause(quiet)
    assert announcer.flush(10)
    assert woken == []
    resume(quiet)
    assert announcer.flush(10)
    assert woken == [quiet.pk]
