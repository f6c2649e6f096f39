"""What the recorded cases do not show: classes, CSI nodes, drivers and capacities that change."""

from __future__ import annotations

from typing import Any

import pytest

from apps.scheduler.framework.events import QueueingHint
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import decode
from apps.scheduler.plugins.helper.csi_migration import MIGRATED_PLUGINS
from apps.scheduler.plugins.volumebinding import hints

POD = PodInfo(
    decode(
        "Pod",
        {
            "metadata": {"name": "p", "namespace": "shop"},
            "spec": {
                "containers": [{"name": "c"}],
                "volumes": [
                    {"name": "v", "csi": {"driver": "nfs.csi"}},
                    {"name": "scratch", "ephemeral": {}},
                ],
            },
        },
    )
)


def storage_class(*zones: str) -> Any:
    terms = [{"matchLabelExpressions": [{"key": "zone", "values": list(zones)}]}] if zones else []
    return decode("StorageClass", {"metadata": {"name": "fast"}, "allowedTopologies": terms})


def csi_node(**annotations: str) -> Any:
    return decode("CSINode", {"metadata": {"name": "n", "annotations": annotations}})


def driver(name: str, *, tracks: bool) -> Any:
    spec = {"storageCapacity": tracks}
    return decode("CSIDriver", {"metadata": {"name": name}, "spec": spec})


def capacity(**amounts: str) -> Any:
    return decode("CSIStorageCapacity", {"metadata": {"name": "c"}, **amounts})


def claim(name: str, namespace: str = "shop") -> Any:
    return decode("PersistentVolumeClaim", {"metadata": {"name": name, "namespace": namespace}})


MIGRATED = {MIGRATED_PLUGINS: "kubernetes.io/gce-pd"}


@pytest.mark.parametrize(
    ("hint", "old", "new", "helps"),
    [
        (hints.hint_storage_class_changed, None, storage_class(), True),
        (hints.hint_storage_class_changed, storage_class("a"), storage_class("a", "b"), True),
        (hints.hint_storage_class_changed, storage_class("a"), storage_class("a"), False),
        (hints.hint_claim_changed, None, claim("p-scratch"), True),
        (hints.hint_claim_changed, None, claim("p-scratch", "elsewhere"), False),
        (hints.hint_claim_changed, None, claim("other"), False),
        (hints.hint_csi_node_changed, None, csi_node(), True),
        (hints.hint_csi_node_changed, csi_node(), csi_node(**MIGRATED), True),
        (hints.hint_csi_node_changed, csi_node(), csi_node(other="1"), False),
        (
            hints.hint_csi_driver_changed,
            driver("nfs.csi", tracks=True),
            driver("nfs.csi", tracks=False),
            True,
        ),
        (
            hints.hint_csi_driver_changed,
            driver("ebs.csi", tracks=True),
            driver("ebs.csi", tracks=False),
            False,
        ),
        (hints.hint_capacity_changed, None, capacity(), True),
        (hints.hint_capacity_changed, capacity(), capacity(capacity="1Gi"), True),
        (hints.hint_capacity_changed, capacity(capacity="1Gi"), capacity(capacity="2Gi"), True),
        (
            hints.hint_capacity_changed,
            capacity(capacity="1Gi", maximumVolumeSize="1Gi"),
            capacity(capacity="9Gi", maximumVolumeSize="1Gi"),
            False,
        ),
        (hints.hint_capacity_changed, capacity(capacity="1Gi"), capacity(), False),
    ],
)
def test_a_change_speaks_for_a_retry_where_it_can_help(hint, old, new, helps):
    assert hint(POD, old, new) is (QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP)
