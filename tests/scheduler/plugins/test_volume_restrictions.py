"""VolumeRestrictions: disks that a node mounts once, and claims for one pod alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from apps.scheduler.framework.mounts import Mount, MountKind
from apps.scheduler.plugins.volume_restrictions import (
    REASON_DISK,
    REASON_READ_WRITE_ONCE_POD,
    PreFilterState,
    rivals,
)
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from apps.scheduler.testing.storage import (
    make_claim,
    make_volume,
)
from tests.scheduler import volume_reference as reference
from tests.scheduler.cycle import add, attempt, explained
from tests.scheduler.plugins.volume_trials import changing_cluster, pods_come_and_go, seeds

gce = {"gcePersistentDisk": {"pdName": "d"}}
gce_read = {"gcePersistentDisk": {"pdName": "d", "readOnly": True}}
ebs_read = {"awsElasticBlockStore": {"volumeID": "d", "readOnly": True}}
iscsi = {"iscsi": {"iqn": "i", "targetPortal": "one"}}
rbd = {"rbd": {"monitors": ["m", "n"], "image": "i"}}


@pytest.mark.parametrize(
    ("wanted", "running", "conflict"),
    [
        (gce, gce, True),
        (gce, gce_read, True),
        (gce_read, gce, True),
        (gce_read, gce_read, False),
        (gce, {"gcePersistentDisk": {"pdName": "other"}}, False),
        (ebs_read, ebs_read, True),
        (iscsi, {"iscsi": {"iqn": "i", "targetPortal": "two", "readOnly": True}}, True),
        (rbd, {"rbd": {"monitors": ["n", "o"], "image": "i"}}, True),
        (rbd, {"rbd": {"monitors": ["o"], "image": "i"}}, False),
        (rbd, {"rbd": {"monitors": ["n"], "image": "i", "pool": "p"}}, False),
        (gce, ebs_read, False),
    ],
)
def test_a_disk_is_mounted_once_or_by_readers_only(
    scheduler: Scheduler, wanted: dict[str, Any], running: dict[str, Any], conflict: bool
) -> None:
    add(scheduler, make_node("n"))
    add(scheduler, make_pod("r").spec(volumes=[{"name": "v", **running}]).on("n"))
    decision = attempt(scheduler, make_pod("p").spec(volumes=[{"name": "v", **wanted}]))
    assert (REASON_DISK in decision.message) is conflict
    assert bool(decision.node) is not conflict


def test_the_pods_that_use_a_disk_or_a_claim_are_explained(scheduler: Scheduler) -> None:
    claim = make_claim("c").modes("ReadWriteOncePod").bound_to("v")
    add(scheduler, make_node("n"), make_node("m"), make_volume("v"), claim)
    disk = [{"name": "v", **gce}]
    add(scheduler, make_pod("r").spec(volumes=disk).on("n"), make_pod("s").claims("c").on("m"))
    assert explained(scheduler, make_pod("p").spec(volumes=disk)) == [
        "VolumeRestrictions: the gce disk d is mounted by default/r"
    ]
    sentence = "claim c has the access mode ReadWriteOncePod and is used by default/s on m"
    assert f"VolumeRestrictions: {sentence}" in explained(scheduler, make_pod("q").claims("c"))


def test_claims_have_no_rivals() -> None:
    assert rivals(Mount(MountKind.CLAIM, ("default", "c"))) == ()


def test_a_claim_for_one_pod_alone_is_used_nowhere_else(scheduler: Scheduler) -> None:
    add(scheduler, make_node("n"), make_node("m"))
    add(scheduler, make_volume("v"), make_claim("c").modes("ReadWriteOncePod").bound_to("v"))
    add(scheduler, make_pod("r").claims("c").on("n"))
    decision = attempt(scheduler, make_pod("p").claims("c"))
    wanted = f"0/2 nodes are available: 2 {REASON_READ_WRITE_ONCE_POD}."
    assert decision.filter_message == wanted


def test_a_pod_that_is_more_important_takes_the_claim_over(scheduler: Scheduler) -> None:
    add(scheduler, make_node("n"))
    add(scheduler, make_volume("v"), make_claim("c").modes("ReadWriteOncePod").bound_to("v"))
    add(scheduler, make_pod("r").claims("c").on("n"))
    decision = attempt(scheduler, make_pod("p").claims("c").priority(10))
    assert decision.nominating is not None
    assert decision.nominating.nominated_node == "n"


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_it_agrees_with_the_reference_while_the_cluster_changes(seed: int) -> None:
    for trial in changing_cluster(seed):
        for line, info, _ in trial.infos():
            if reference.has_disk_conflict(trial.pod.pod, info.pods.values()):
                expected = {REASON_DISK}
            else:
                expected = {REASON_READ_WRITE_ONCE_POD} if trial.users > 0 else set()
            assert trial.reasons("VolumeRestrictions", line) == expected


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_it_agrees_with_the_reference_while_pods_come_and_go(seed: int) -> None:
    for trial in pods_come_and_go(seed):
        for line, info, _ in trial.infos():
            conflict = reference.has_disk_conflict(trial.pod.pod, info.pods.values())
            if "VolumeRestrictions" in trial.state.skip_filter:
                continue
            claimed = {REASON_READ_WRITE_ONCE_POD} if trial.users > 0 else set()
            expected = {REASON_DISK} if conflict else claimed
            assert trial.reasons("VolumeRestrictions", line) == expected


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_adding_and_removing_a_pod_leaves_the_state_as_it_was(seed: int) -> None:
    for trial in changing_cluster(seed, steps=1):
        restrictions, state = trial.plugins.restrictions, trial.state
        if restrictions.name in state.skip_filter or not trial.lines:
            continue
        overlay = trial.cluster.snapshot.select(np.array(trial.lines[:1], dtype=np.int64))
        key = "PreFilterVolumeRestrictions"
        before, dry = state.read(key, PreFilterState).clone(), state.clone()
        other = trial.cluster.dice.pod("other", ["c0", "c1", "c2"]).info()
        restrictions.add_pod(dry, trial.pod, other, overlay)
        restrictions.remove_pod(dry, trial.pod, other, overlay)
        assert dry.read(key, PreFilterState) == before == state.read(key, PreFilterState)
