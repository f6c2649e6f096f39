"""The extension points of NodeVolumeLimits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import ClusterEventWithHint
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import PreFilterResult, Verdicts
from apps.scheduler.framework.mounts import Mount, MountKind
from apps.scheduler.framework.node_columns import BoolArray, Int64Array, NodeColumns, Reads
from apps.scheduler.framework.status import (
    SKIP,
    Status,
    StatusError,
    error,
    unresolvable,
    unschedulable,
)
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.helper.csi_migration import (
    MigratedPlugin,
    TranslationError,
    plugin_of_mount,
)
from apps.scheduler.plugins.helper.csi_nodes import (
    NO_LIMIT,
    attach_limit,
    attach_limits,
    find_installed,
    find_with_csi_node,
)
from apps.scheduler.plugins.helper.pod_signs import volumes_sign
from apps.scheduler.plugins.helper.storage import (
    claim_not_created_for,
    claim_not_found,
    is_created_for,
)
from apps.scheduler.plugins.nodevolumelimits import hints
from apps.scheduler.plugins.nodevolumelimits.attachable import AttachableVolumes, CSIVolume
from apps.scheduler.plugins.nodevolumelimits.attached import AttachedVolumes, Attachments
from apps.scheduler.plugins.nodevolumelimits.refusal_details import VolumeCount

NAME: Final = "NodeVolumeLimits"
REASON: Final = "node(s) exceed max volume count"
REASON_NO_DRIVER: Final = "CSI driver is not installed on the node"
_STATUSES = (None, unschedulable(REASON))

#: the volumes a pod would attach; one with a plugin counts only on nodes with a CSINode
Wanted = Mapping[CSIVolume, MigratedPlugin | None]


class NodeVolumeLimits:
    name = NAME
    sign_reads: Reads = "nodes"

    def __init__(self, args: None, handle: Handle) -> None:
        self._handle = handle
        self._attachable = AttachableVolumes(handle.listers)
        self._attached = AttachedVolumes(handle.snapshot, handle.listers, self._attachable)
        self._attachments = Attachments(handle.listers)
        self._checks_drivers = handle.gates.enabled("VolumeLimitScaling")

    def sign(self, pod: PodInfo) -> Hashable | None:
        return None if pod.pod.spec.volumes else ()

    def sign_pod(self, pod: PodInfo) -> Hashable | None:
        return volumes_sign(pod)

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> tuple[PreFilterResult | None, Status | None]:
        return None, None if any(map(hints.may_be_attached, pod.pod.spec.volumes)) else SKIP

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        for mount in pod.mounts:
            if missing := self._describe_missing(mount):
                everywhere = np.ones(len(nodes), dtype=np.uint16)
                return Verdicts(everywhere, (None, unresolvable(missing)))
        wanted = self._find_wanted(pod, nodes)
        if not wanted:
            return None
        if self._checks_drivers and (missing_drivers := self._find_missing_drivers(wanted, nodes)):
            return self._refuse(wanted, nodes, missing_drivers)
        return Verdicts(self._exceeding(wanted, nodes).astype(np.uint16), _STATUSES)

    def _exceeding(self, wanted: Wanted, nodes: NodeColumns) -> BoolArray:
        """(n,) bool: nodes that cannot attach the pod's volumes."""
        self._attached.refresh()
        refused = np.zeros(len(nodes), dtype=np.bool_)
        for driver in dict.fromkeys(volume.driver for volume in wanted):
            refused |= self._exceeds(driver, wanted, nodes)
        for row in nodes.modified_rows:
            refused[row] = self._exceeds_on(row, wanted, nodes)
        return refused

    def _find_missing_drivers(
        self, wanted: Wanted, nodes: NodeColumns
    ) -> list[tuple[str, BoolArray]]:
        """Drivers that must be on a node, with the nodes, (n,) bool, that do not have them."""
        missing = []
        for volume, plugin in wanted.items():
            driver = self._handle.listers.csi_drivers.get(volume.driver)
            if driver is None or not driver.spec.prevent_pod_scheduling_if_missing:
                continue
            absent = ~find_installed(volume.driver, nodes, self._handle.listers.csi_nodes)
            if plugin is not None:
                absent &= find_with_csi_node(nodes, self._handle.listers.csi_nodes)
            if absent.any():
                missing.append((volume.driver, absent))
        return missing

    def _refuse(
        self,
        wanted: Wanted,
        nodes: NodeColumns,
        missing: Sequence[tuple[str, BoolArray]],
    ) -> Verdicts:
        """The verdicts where drivers are missing on some nodes; the first one is the reason."""
        ids = self._exceeding(wanted, nodes).astype(np.uint16)
        statuses: list[Status | None] = list(_STATUSES)
        for driver, absent in reversed(missing):
            ids[absent] = len(statuses)
            statuses.append(unschedulable(f"{driver} {REASON_NO_DRIVER}"))
        return Verdicts(ids, statuses)

    def explain_refusal(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, status: Status
    ) -> Iterator[Detail]:
        """The drivers whose limit the pod would exceed; nothing for a missing claim."""
        if REASON not in status.reasons:
            return
        self._attached.refresh()
        for count in self._count_on(0, self._find_wanted(pod, nodes), nodes):
            if count.limit != NO_LIMIT and count.attached + count.new > count.limit:
                yield count.describe()

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return hints.EVENTS_WITH_DRIVERS if self._checks_drivers else hints.EVENTS

    def _describe_missing(self, mount: Mount) -> str:
        """The message for a missing claim, which refuses all nodes; "" if there is none."""
        if mount.kind not in (MountKind.CLAIM, MountKind.EPHEMERAL):
            return ""
        if self._attachable.claim_of(mount) is not None:
            return ""
        namespace, name = mount.of[:2]
        return f"looking up PVC {namespace}/{name}: {claim_not_found(name)}"

    def _find_wanted(self, pod: PodInfo, nodes: NodeColumns) -> Wanted:
        """Raises StatusError (an internal error) for a volume that cannot be the pod's."""
        wanted = {}
        for mount in pod.mounts:
            claim = self._attachable.claim_of(mount) if mount.kind is MountKind.EPHEMERAL else None
            if claim is not None and not is_created_for(claim, pod.uid):
                raise StatusError(error(claim_not_created_for(claim, pod)))
            try:
                attachable = self._attachable.of(mount)
            except TranslationError as unknown:
                self._refuse_untranslatable(mount, unknown, nodes)
                continue
            if attachable is not None:
                wanted[attachable.volume] = attachable.plugin
        return wanted

    def _refuse_untranslatable(
        self, mount: Mount, unknown: TranslationError, nodes: NodeColumns
    ) -> None:
        """An internal error if a node would have to use the driver for the volume."""
        plugin = plugin_of_mount(mount)
        if plugin is not None and find_with_csi_node(nodes, self._handle.listers.csi_nodes).any():
            reason = f"converting volume({mount.of[0]}) from inline to csi: {unknown}"
            raise StatusError(error(reason))

    def _exceeds(self, driver: str, wanted: Wanted, nodes: NodeColumns) -> BoolArray:
        """(n,) bool: nodes that cannot attach the pod's volumes of the driver."""
        limits = attach_limits(driver, nodes, self._handle.listers.csi_nodes)
        new, used = (
            self._count_new(driver, wanted)[nodes.snapshot_rows],
            self._count_used(driver)[nodes.snapshot_rows],
        )
        exceeds: BoolArray = (limits != NO_LIMIT) & (new > 0) & (used + new > limits)
        return exceeds

    def _count_new(self, driver: str, wanted: Wanted) -> Int64Array:
        """(rows,) int64: how many volumes of the driver the pod would newly attach."""
        snapshot = self._handle.snapshot
        new = np.zeros(len(snapshot), dtype=np.int64)
        for volume, plugin in wanted.items():
            if volume.driver != driver:
                continue
            counts = np.ones(len(new), dtype=np.bool_)
            if plugin is not None:
                counts &= find_with_csi_node(snapshot, self._handle.listers.csi_nodes)
            counts[list(self._attached.rows_with(volume))] = False
            new += counts
        return new

    def _count_used(self, driver: str) -> Int64Array:
        """(rows,) int64: how many volumes of the driver are attached.

        Volumes that are attached but not used by a pod on the node count too.
        """
        used = self._attached.count(driver).copy()
        for node_name, volumes in self._attachments.by_node().items():
            row = self._handle.snapshot.row_of(node_name)
            idle = sum(
                volume.driver == driver and row not in self._attached.rows_with(volume)
                for volume in volumes
            )
            if row >= 0:
                used[row] += idle
        return used

    def _exceeds_on(self, row: int, wanted: Wanted, nodes: NodeColumns) -> bool:
        """The same for one row and all drivers, with the pods shown on that row."""
        return any(
            count.limit != NO_LIMIT and count.attached + count.new > count.limit
            for count in self._count_on(row, wanted, nodes)
        )

    def _count_on(self, row: int, wanted: Wanted, nodes: NodeColumns) -> Iterator[VolumeCount]:
        """The volumes of each driver of which the pod would attach more, on one row."""
        info = nodes.info(row)
        csi_node = self._handle.listers.csi_nodes.get(info.name)
        attached = self._attached.volumes_of(info.mounts, info.name)
        new = {
            volume
            for volume, plugin in wanted.items()
            if volume not in attached and (plugin is None or csi_node is not None)
        }
        used = _count_by_driver(attached | self._attachments.by_node().get(info.name, set()))
        for driver, count in _count_by_driver(new).items():
            yield VolumeCount(driver, used[driver], count, attach_limit(driver, csi_node))


def _count_by_driver(volumes: Iterable[CSIVolume]) -> Counter[str]:
    return Counter(volume.driver for volume in volumes)
