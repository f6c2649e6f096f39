"""NodeVolumeLimits: how many volumes a driver attaches to a node."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from apps.scheduler.decision import Result
from apps.scheduler.framework.events import QueueingHint
from apps.scheduler.objects import decode
from apps.scheduler.plugins.helper.csi_migration import (
    EBS,
    GCE_PD,
)
from apps.scheduler.plugins.nodevolumelimits import hints
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import PodBuilder, make_node, make_pod
from apps.scheduler.testing.storage import (
    make_claim,
    make_csi_node,
    make_storage_class,
    make_volume,
)
from tests.scheduler import volume_reference as reference
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add, attempt, explained
from tests.scheduler.plugins.volume_trials import changing_cluster, pods_come_and_go, seeds

DRIVER = "ebs.csi.aws.com"
EXCEEDS = "node(s) exceed max volume count"


def limited(scheduler: Scheduler, count: int, *, migrated: str = "") -> None:
    add(scheduler, make_node("n"), make_csi_node("n", {DRIVER: count}, migrated))


def ebs_disk(volume_id: str) -> dict[str, Any]:
    return {"name": "v", "awsElasticBlockStore": {"volumeID": volume_id}}


def add_claim(scheduler: Scheduler, name: str, handle: str) -> None:
    add(scheduler, make_volume(f"v-{name}").csi(DRIVER, handle))
    add(scheduler, make_claim(name).bound_to(f"v-{name}"))


def test_pods_that_share_a_volume_share_its_attachment(scheduler: Scheduler) -> None:
    limited(scheduler, 1)
    add_claim(scheduler, "one", "h1")
    add_claim(scheduler, "two", "h2")
    add(scheduler, make_pod("r").claims("one").on("n"))
    assert attempt(scheduler, make_pod("p").claims("one")).node == "n"
    assert EXCEEDS in attempt(scheduler, make_pod("q").claims("two")).message


def test_the_volumes_of_a_full_node_are_explained(scheduler: Scheduler) -> None:
    limited(scheduler, 2)
    for name in ("one", "two", "three"):
        add_claim(scheduler, name, f"h-{name}")
    add(scheduler, make_pod("r").claims("one").on("n"))
    assert explained(scheduler, make_pod("p").claims("one", "two", "three")) == [
        f"NodeVolumeLimits: driver {DRIVER}: 1 attached + 2 of the pod = 3, and the node can "
        "attach 2"
    ]


def test_a_claim_counts_for_the_volume_it_will_get(scheduler: Scheduler) -> None:
    limited(scheduler, 1)
    add(scheduler, make_storage_class("fast", DRIVER))
    add(scheduler, *(make_claim(name).in_class("fast") for name in "ab"))
    assert attempt(scheduler, make_pod("p").claims("a")).node == "n"
    assert EXCEEDS in attempt(scheduler, make_pod("q").claims("b")).message


def test_a_claim_is_counted_anew_when_it_gets_its_volume(scheduler: Scheduler) -> None:
    limited(scheduler, 1)
    add_claim(scheduler, "one", "h1")
    waiting = make_claim("two").obj()
    add(scheduler, waiting, make_pod("r").claims("two").on("n"))
    assert attempt(scheduler, make_pod("p").claims("one")).node == "n"
    add(scheduler, make_volume("late").csi(DRIVER, "h1"))
    scheduler.handle("PersistentVolumeClaim", waiting, make_claim("two").bound_to("late").obj())
    assert attempt(scheduler, make_pod("q").claims("one")).node == "n"
    add_claim(scheduler, "three", "h3")
    assert EXCEEDS in attempt(scheduler, make_pod("s").claims("three")).message


def test_a_volume_that_is_still_attached_takes_its_place(scheduler: Scheduler) -> None:
    limited(scheduler, 1)
    add_claim(scheduler, "one", "h1")
    add(scheduler, make_volume("old").csi(DRIVER, "h0"))
    source = {"persistentVolumeName": "old"}
    spec = {"attacher": DRIVER, "nodeName": "n", "source": source}
    attachment = decode("VolumeAttachment", {"metadata": {"name": "a"}, "spec": spec})
    add(scheduler, attachment)
    assert EXCEEDS in attempt(scheduler, make_pod("p").claims("one")).message
    scheduler.handle("VolumeAttachment", attachment, None)
    assert attempt(scheduler, make_pod("q").claims("one")).node == "n"


@pytest.mark.parametrize("migrated", [EBS.name, "", GCE_PD.name])
def test_in_tree_disks_count_on_nodes_with_a_csi_node_whatever_it_lists_as_migrated(
    scheduler: Scheduler, migrated: str
) -> None:
    limited(scheduler, 1, migrated=migrated)
    first, second = (
        attempt(scheduler, make_pod(name).spec(volumes=[ebs_disk(f"vol-{name}")])) for name in "pq"
    )
    assert first.node == "n"
    assert EXCEEDS in second.message


def test_in_tree_disks_do_not_count_on_a_node_without_a_csi_node(scheduler: Scheduler) -> None:
    add(scheduler, make_node("n").capacity({"attachable-volumes-aws-ebs": 0}))
    assert attempt(scheduler, make_pod("p").spec(volumes=[ebs_disk("vol-1")])).node == "n"


def test_a_disk_that_no_driver_could_serve_is_an_error(scheduler: Scheduler) -> None:
    limited(scheduler, 1, migrated=EBS.name)
    volume = {"name": "v", "awsElasticBlockStore": {"volumeID": "aws://zone/disk"}}
    decision = attempt(scheduler, make_pod("p").spec(volumes=[volume]))
    assert decision.result is Result.ERROR
    assert "converting volume(aws://zone/disk) from inline to csi" in decision.message


def test_without_the_plugins_before_it_a_missing_claim_is_told_as_well(
    new_scheduler: NewScheduler,
) -> None:
    others = ("VolumeRestrictions", "VolumeBinding", "VolumeZone")
    disabled = {"multiPoint": {"disabled": [{"name": name} for name in others]}}
    profile = {"schedulerName": "default-scheduler", "plugins": disabled}
    scheduler = new_scheduler({"profiles": [profile]})
    limited(scheduler, 1)
    decision = attempt(scheduler, make_pod("p").claims("gone"))
    assert 'looking up PVC default/gone: persistentvolumeclaim "gone" not found' in decision.message


def detached(driver: str) -> Any:
    return decode("VolumeAttachment", {"metadata": {"name": "a"}, "spec": {"attacher": driver}})


ebs_pod = make_pod("p").spec(volumes=[{"name": "v", "awsElasticBlockStore": {"volumeID": "v"}}])


@pytest.mark.parametrize(
    ("hint", "pod", "old", "new", "helps"),
    [
        (
            hints.hint_csi_node_changed,
            make_pod("p"),
            make_csi_node("n", {DRIVER: 1}),
            make_csi_node("n", {DRIVER: 2}),
            True,
        ),
        (
            hints.hint_csi_node_changed,
            make_pod("p"),
            make_csi_node("n", {DRIVER: 2}),
            make_csi_node("n", {DRIVER: 2, "other": 0}),
            False,
        ),
        (hints.hint_volume_detached, make_pod("p").claims("c"), detached(DRIVER), None, True),
        (hints.hint_volume_detached, make_pod("p"), detached(DRIVER), None, False),
        (hints.hint_volume_detached, ebs_pod, detached(DRIVER), None, True),
        (hints.hint_volume_detached, ebs_pod, detached("other"), None, False),
    ],
)
def test_a_change_speaks_for_a_retry_where_it_can_help(
    hint: Any, pod: PodBuilder, old: Any, new: Any, helps: bool
) -> None:
    expected = QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP
    assert hint(pod.info(), old, new) is expected


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_it_agrees_with_the_reference_while_the_cluster_changes(seed: int) -> None:
    for trial in changing_cluster(seed):
        for line, info, _ in trial.infos():
            exceeds = reference.exceeds_limits(trial.pod, info, trial.cluster.listers)
            assert bool(trial.reasons("NodeVolumeLimits", line)) is exceeds


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_it_agrees_with_the_reference_while_pods_come_and_go(seed: int) -> None:
    for trial in pods_come_and_go(seed):
        for line, info, _ in trial.infos():
            exceeds = reference.exceeds_limits(trial.pod, info, trial.cluster.listers)
            assert bool(trial.reasons("NodeVolumeLimits", line)) is exceeds
