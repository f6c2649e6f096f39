"""An assumption holds until it is taken back or the cluster has something newer."""

from __future__ import annotations

from apps.scheduler.cache.listers import Listers
from apps.scheduler.objects import PersistentVolume
from apps.scheduler.testing.storage import make_volume


def volume(version: int) -> PersistentVolume:
    return make_volume("v").version(version).obj()


def test_the_assumed_version_is_seen_and_the_list_stays_as_it_is() -> None:
    listers = Listers()
    known, assumed = volume(1), volume(1)
    listers.persistent_volumes.put(known)
    listers.assumed_volumes.assume(assumed)
    assert listers.assumed_volumes.get("v") is assumed
    assert listers.persistent_volumes.get("v") is known


def test_what_the_cluster_says_later_counts_more() -> None:
    listers = Listers()
    listers.persistent_volumes.put(volume(1))
    listers.assumed_volumes.assume(volume(1))
    newer = volume(2)
    listers.persistent_volumes.put(newer)
    assert listers.assumed_volumes.get("v") is newer
    listers.persistent_volumes.remove(newer)
    assert listers.assumed_volumes.get("v") is None


def test_restoring_takes_back_only_what_still_holds() -> None:
    listers = Listers()
    known, first, second = volume(1), volume(1), volume(1)
    listers.persistent_volumes.put(known)
    listers.assumed_volumes.assume(first)
    listers.assumed_volumes.assume(second)
    listers.assumed_volumes.restore(first)
    assert listers.assumed_volumes.get("v") is second
    listers.assumed_volumes.restore(second)
    assert listers.assumed_volumes.get("v") is known


def test_a_superseded_assumption_does_not_come_back() -> None:
    listers = Listers()
    known = volume(1)
    listers.persistent_volumes.put(known)
    listers.assumed_volumes.assume(volume(1))
    listers.persistent_volumes.put(volume(2))
    listers.assumed_volumes.assume(make_volume("other").obj())
    listers.persistent_volumes.put(known)
    assert listers.assumed_volumes.get("v") is known
