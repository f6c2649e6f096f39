"""Limits of in-tree disks, until 1.30."""

from __future__ import annotations

import pytest

from apps.scheduler.plugins.helper.csi_migration import EBS
from apps.scheduler.testing.builders import PodBuilder, make_node, make_pod
from apps.scheduler.testing.storage import (
    make_claim,
    make_csi_node,
    make_storage_class,
    make_volume,
)
from tests.legacy_plugins.policies import under_policy
from tests.scheduler.cycle import add, attempt

EXCEEDS = "node(s) exceed max volume count"
SOURCES = {
    "MaxEBSVolumeCount": lambda name: {"awsElasticBlockStore": {"volumeID": name}},
    "MaxGCEPDVolumeCount": lambda name: {"gcePersistentDisk": {"pdName": name}},
    "MaxAzureDiskVolumeCount": lambda name: {"azureDisk": {"diskURI": name}},
    "MaxCinderVolumeCount": lambda name: {"cinder": {"volumeID": name}},
}


def with_disks(pod: PodBuilder, predicate: str, *names: str) -> PodBuilder:
    return pod.spec(volumes=[{"name": name, **SOURCES[predicate](name)} for name in names])


@pytest.mark.parametrize(
    ("predicate", "resource"),
    [
        ("MaxEBSVolumeCount", "attachable-volumes-aws-ebs"),
        ("MaxGCEPDVolumeCount", "attachable-volumes-gce-pd"),
        ("MaxAzureDiskVolumeCount", "attachable-volumes-azure-disk"),
        ("MaxCinderVolumeCount", "attachable-volumes-cinder"),
    ],
)
def test_a_node_attaches_as_many_disks_as_it_says(predicate: str, resource: str) -> None:
    scheduler = under_policy([predicate], {})
    add(scheduler, make_node("n").capacity({resource: 2}))
    add(scheduler, with_disks(make_pod("r"), predicate, "one").on("n"))
    assert attempt(scheduler, with_disks(make_pod("p"), predicate, "one", "two")).node == "n"
    full = attempt(scheduler, with_disks(make_pod("q"), predicate, "three"))
    assert full.filter_message == f"0/1 nodes are available: 1 {EXCEEDS}."
    other = next(name for name in SOURCES if name != predicate)
    assert attempt(scheduler, with_disks(make_pod("s"), other, "x", "y", "z")).node == "n"


@pytest.mark.parametrize(
    ("predicate", "machine", "limit"),
    [
        ("MaxEBSVolumeCount", "", 39),
        ("MaxEBSVolumeCount", "m5.large", 25),
        ("MaxEBSVolumeCount", "m4.large", 39),
        ("MaxGCEPDVolumeCount", "", 16),
        ("MaxAzureDiskVolumeCount", "", 16),
        ("MaxCinderVolumeCount", "", 256),
    ],
)
def test_machines_have_limits_of_their_own(predicate: str, machine: str, limit: int) -> None:
    scheduler = under_policy([predicate], {})
    node = make_node("n")
    if machine:
        node.label("node.kubernetes.io/instance-type", machine)
    add(scheduler, node)
    disks = [f"d{number}" for number in range(limit)]
    assert attempt(scheduler, with_disks(make_pod("p"), predicate, *disks)).node == "n"
    assert EXCEEDS in attempt(scheduler, with_disks(make_pod("q"), predicate, "more")).message


def test_claims_count_for_the_disks_behind_them() -> None:
    scheduler = under_policy(["MaxEBSVolumeCount"], {})
    add(scheduler, make_node("n").capacity({"attachable-volumes-aws-ebs": 1}))
    add(scheduler, make_storage_class("ebs", EBS.name))
    add(scheduler, make_volume("v").spec(awsElasticBlockStore={"volumeID": "d"}))
    add(scheduler, make_claim("bound").bound_to("v"), make_claim("new").in_class("ebs"))
    add(scheduler, make_pod("r").claims("bound").on("n"))
    same = with_disks(make_pod("p"), "MaxEBSVolumeCount", "d")
    assert attempt(scheduler, same).node == "n"
    assert EXCEEDS in attempt(scheduler, make_pod("q").claims("new")).message


def test_where_a_driver_serves_the_disks_it_counts_them() -> None:
    scheduler = under_policy(["MaxEBSVolumeCount"], {})
    add(scheduler, make_node("n").capacity({"attachable-volumes-aws-ebs": 0}))
    add(scheduler, make_csi_node("n", {}, EBS.name))
    assert attempt(scheduler, with_disks(make_pod("p"), "MaxEBSVolumeCount", "d")).node == "n"


def test_room_for_a_disk_is_made_by_evicting_one() -> None:
    scheduler = under_policy(["MaxEBSVolumeCount"], {})
    add(scheduler, make_node("n").capacity({"attachable-volumes-aws-ebs": 1}))
    add(scheduler, with_disks(make_pod("r"), "MaxEBSVolumeCount", "one").on("n"))
    pod = with_disks(make_pod("p"), "MaxEBSVolumeCount", "two").priority(10)
    decision = attempt(scheduler, pod)
    assert decision.nominating is not None
    assert decision.nominating.nominated_node == "n"
