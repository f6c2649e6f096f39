"""What kube-scheduler says of disks, zones, limits and declared features, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.events import QueueingHint
from apps.scheduler.framework.mounts import Mount, MountKind
from apps.scheduler.objects import KubeObject, decode
from apps.scheduler.plugins.helper.csi_migration import (
    CINDER,
    EBS,
    GCE_PD,
    MigratedPlugin,
    TranslationError,
)
from apps.scheduler.plugins.nodevolumelimits import hints
from apps.scheduler.plugins.volume_restrictions import rivals
from apps.scheduler.plugins.volume_zone import zones_of
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from apps.scheduler.testing.storage import (
    make_claim,
    make_csi_node,
    make_storage_class,
    make_volume,
)
from tests.scheduler.conftest import NewScheduler

ZONE, OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
DRIVER = "ebs.csi.aws.com"


@pytest.fixture
def scheduler(new_scheduler: NewScheduler) -> Scheduler:
    return new_scheduler()


def tell(scheduler: Scheduler, *items: KubeObject | NodeBuilder | PodBuilder | Any) -> None:
    for item in items:
        built = item if isinstance(item, KubeObject) else item.obj()
        scheduler.handle(type(built).__name__, None, built)


def attempt(scheduler: Scheduler, pod: PodBuilder) -> Decision:
    tell(scheduler, pod)
    decision = scheduler.schedule_one()
    assert decision is not None
    return decision


# -- VolumeRestrictions --------------------------------------------------------------------------

DISK = "node(s) had no available disk"
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
    tell(scheduler, make_node("n"))
    tell(scheduler, make_pod("r").spec(volumes=[{"name": "v", **running}]).on("n"))
    decision = attempt(scheduler, make_pod("p").spec(volumes=[{"name": "v", **wanted}]))
    assert (DISK in decision.message) is conflict
    assert bool(decision.node) is not conflict


def test_claims_have_no_rivals() -> None:
    assert rivals(Mount(MountKind.CLAIM, ("default", "c"))) == ()


def test_a_claim_for_one_pod_alone_is_used_nowhere_else(scheduler: Scheduler) -> None:
    tell(scheduler, make_node("n"), make_node("m"))
    tell(scheduler, make_volume("v"), make_claim("c").modes("ReadWriteOncePod").bound_to("v"))
    tell(scheduler, make_pod("r").claims("c").on("n"))
    decision = attempt(scheduler, make_pod("p").claims("c"))
    reason = (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod"
    )
    assert decision.filter_message == f"0/2 nodes are available: 2 {reason}."


def test_a_pod_that_is_more_important_takes_the_claim_over(scheduler: Scheduler) -> None:
    tell(scheduler, make_node("n"))
    tell(scheduler, make_volume("v"), make_claim("c").modes("ReadWriteOncePod").bound_to("v"))
    tell(scheduler, make_pod("r").claims("c").on("n"))
    decision = attempt(scheduler, make_pod("p").claims("c").priority(10))
    assert decision.nominating is not None
    assert decision.nominating.nominated_node == "n"


# -- VolumeZone ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("volume", "node", "fits"),
    [
        ({ZONE: "a"}, {ZONE: "a"}, True),
        ({ZONE: "a"}, {ZONE: "b"}, False),
        ({ZONE: "a"}, {}, True),
        ({ZONE: "a"}, {OLD_ZONE: "a"}, False),
        ({OLD_ZONE: "a"}, {ZONE: "a"}, True),
        ({OLD_ZONE: "a"}, {OLD_ZONE: "b", ZONE: "a"}, False),
        ({ZONE: "a__ b"}, {ZONE: "b"}, True),
        ({ZONE: "a__"}, {ZONE: "z"}, True),
        ({ZONE: "a", "topology.kubernetes.io/region": "r"}, {ZONE: "a"}, False),
    ],
)
def test_volumes_are_used_in_their_zones(
    scheduler: Scheduler, volume: dict[str, str], node: dict[str, str], fits: bool
) -> None:
    tell(scheduler, make_node("n").labels(node))
    tell(scheduler, make_volume("v").labels(volume), make_claim("c").bound_to("v"))
    decision = attempt(scheduler, make_pod("p").claims("c"))
    assert ("node(s) had no available volume zone" in decision.message) is not fits


def test_zones_are_read_from_the_label() -> None:
    volume = make_volume("v").labels({ZONE: "a__b", OLD_ZONE: "__"})
    assert zones_of(volume.obj()) == {ZONE: frozenset({"a", "b"})}


def test_a_volume_that_is_not_there_has_no_zone(scheduler: Scheduler) -> None:
    tell(scheduler, make_node("n"), make_claim("c").bound_to("ghost"))
    decision = attempt(scheduler, make_pod("p").claims("c"))
    assert decision.pre_filter.plugin == "VolumeZone"
    assert decision.pre_filter.reasons == ('persistentvolume "ghost" not found',)


# -- NodeVolumeLimits ----------------------------------------------------------------------------

EXCEEDS = "node(s) exceed max volume count"


def limited(scheduler: Scheduler, count: int, *, migrated: str = "") -> None:
    tell(scheduler, make_node("n"), make_csi_node("n", {DRIVER: count}, migrated))


def add_claim(scheduler: Scheduler, name: str, handle: str) -> None:
    tell(scheduler, make_volume(f"v-{name}").csi(DRIVER, handle))
    tell(scheduler, make_claim(name).bound_to(f"v-{name}"))


def test_pods_that_share_a_volume_share_its_attachment(scheduler: Scheduler) -> None:
    limited(scheduler, 1)
    add_claim(scheduler, "one", "h1")
    add_claim(scheduler, "two", "h2")
    tell(scheduler, make_pod("r").claims("one").on("n"))
    assert attempt(scheduler, make_pod("p").claims("one")).node == "n"
    assert EXCEEDS in attempt(scheduler, make_pod("q").claims("two")).message


def test_a_claim_counts_for_the_volume_it_will_get(scheduler: Scheduler) -> None:
    limited(scheduler, 1)
    tell(scheduler, make_storage_class("fast", DRIVER))
    tell(scheduler, *(make_claim(name).in_class("fast") for name in "ab"))
    assert attempt(scheduler, make_pod("p").claims("a")).node == "n"
    assert EXCEEDS in attempt(scheduler, make_pod("q").claims("b")).message


def test_a_claim_is_counted_anew_when_it_gets_its_volume(scheduler: Scheduler) -> None:
    limited(scheduler, 1)
    add_claim(scheduler, "one", "h1")
    waiting = make_claim("two").obj()
    tell(scheduler, waiting, make_pod("r").claims("two").on("n"))
    assert attempt(scheduler, make_pod("p").claims("one")).node == "n"
    tell(scheduler, make_volume("late").csi(DRIVER, "h1"))
    scheduler.handle("PersistentVolumeClaim", waiting, make_claim("two").bound_to("late").obj())
    assert attempt(scheduler, make_pod("q").claims("one")).node == "n"
    add_claim(scheduler, "three", "h3")
    assert EXCEEDS in attempt(scheduler, make_pod("s").claims("three")).message


def test_a_volume_that_is_still_attached_takes_its_place(scheduler: Scheduler) -> None:
    limited(scheduler, 1)
    add_claim(scheduler, "one", "h1")
    tell(scheduler, make_volume("old").csi(DRIVER, "h0"))
    source = {"persistentVolumeName": "old"}
    spec = {"attacher": DRIVER, "nodeName": "n", "source": source}
    attachment = decode("VolumeAttachment", {"metadata": {"name": "a"}, "spec": spec})
    tell(scheduler, attachment)
    assert EXCEEDS in attempt(scheduler, make_pod("p").claims("one")).message
    scheduler.handle("VolumeAttachment", attachment, None)
    assert attempt(scheduler, make_pod("q").claims("one")).node == "n"


@pytest.mark.parametrize(("migrated", "fits"), [(EBS.name, False), ("", True), (GCE_PD.name, True)])
def test_in_tree_disks_count_where_the_driver_serves_them(
    scheduler: Scheduler, migrated: str, fits: bool
) -> None:
    limited(scheduler, 0, migrated=migrated)
    volume = {"name": "v", "awsElasticBlockStore": {"volumeID": "vol-1"}}
    decision = attempt(scheduler, make_pod("p").spec(volumes=[volume]))
    assert (EXCEEDS in decision.message) is not fits


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


@pytest.mark.parametrize(
    ("plugin", "volume", "labels", "handle"),
    [
        (EBS, "vol-1", {}, "vol-1"),
        (EBS, "aws://zone/vol-1", {}, "vol-1"),
        (EBS, "aws:///vol-1", {}, "vol-1"),
        (GCE_PD, "d", {}, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
        (GCE_PD, "d", {ZONE: "x-y-a"}, "projects/UNSPECIFIED/zones/x-y-a/disks/d"),
        (GCE_PD, "d", {OLD_ZONE: "x-y-a__x-y-b"}, "projects/UNSPECIFIED/regions/x-y/disks/d"),
        (CINDER, "id", {}, "id"),
    ],
)
def test_drivers_know_in_tree_volumes_by_their_handles(
    plugin: MigratedPlugin, volume: str, labels: dict[str, str], handle: str
) -> None:
    assert plugin.handle(volume, labels) == handle


@pytest.mark.parametrize(
    ("plugin", "volume", "labels"),
    [
        (EBS, "aws://zone/disk", {}),
        (GCE_PD, "d", {ZONE: "x-y-a__x-z-a"}),
        (GCE_PD, "d", {ZONE: "here__there"}),
    ],
)
def test_some_in_tree_volumes_have_no_handle(
    plugin: MigratedPlugin, volume: str, labels: dict[str, str]
) -> None:
    with pytest.raises(TranslationError):
        plugin.handle(volume, labels)


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


# -- NodeDeclaredFeatures ------------------------------------------------------------------------

RESTARTS, NAMESPACES = "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"


def needy_pod() -> PodBuilder:
    rules = [{"action": "RestartAllContainers"}]
    containers = [{"name": "c", "restartPolicyRules": rules}]
    return make_pod("p").spec(containers=containers, hostNetwork=True, hostUsers=False)


@pytest.mark.parametrize(
    ("declared", "missing"),
    [
        ([], f"{RESTARTS}, {NAMESPACES}"),
        ([RESTARTS], NAMESPACES),
        ([NAMESPACES, "Other"], RESTARTS),
        ([RESTARTS, NAMESPACES], ""),
    ],
)
def test_a_pod_goes_where_the_features_it_needs_are_declared(
    scheduler: Scheduler, declared: list[str], missing: str
) -> None:
    node = make_node("n")
    node.body["status"]["declaredFeatures"] = declared
    tell(scheduler, node)
    decision = attempt(scheduler, needy_pod())
    reason = f"node declared features check failed - unsatisfied requirements: {missing}"
    assert (reason in decision.message) is bool(missing)
    assert bool(decision.node) is not bool(missing)
