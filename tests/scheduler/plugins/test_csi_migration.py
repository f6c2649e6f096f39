"""How CSI drivers name the volumes of in-tree plugins."""

from __future__ import annotations

import pytest

from apps.scheduler.plugins.helper.csi_migration import (
    CINDER,
    EBS,
    GCE_PD,
    MigratedPlugin,
    TranslationError,
)

ZONE, OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"


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
