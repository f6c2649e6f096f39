"""The CSI volumes in use on every node, kept up to date pod by pod and claim by claim."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Protocol

import numpy as np

from apps.scheduler.cache.change_log import LogReader
from apps.scheduler.cache.listers import Listers
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.mounts import Mount, MountKind
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.objects import PersistentVolumeClaim
from apps.scheduler.plugins.nodevolumelimits.attachable import CSIVolume

#: (mount, row): a volume that pods of a row use
Use = tuple[Mount, int]
#: (namespace, name)
ClaimKey = tuple[str, str]


class Resolver(Protocol):
    """Finds the volume of a mount."""

    @property
    def depends_on_csi_nodes(self) -> bool:
        """Whether any result so far depended on CSINodes."""

    def claim_of(self, mount: Mount) -> PersistentVolumeClaim | None: ...

    def resolve(self, mount: Mount, node_name: str) -> CSIVolume | None:
        """The volume that is attached to the node, None if the mount does not count there."""


class AttachedVolumes:
    """Counts distinct volumes per driver and row: pods that share a volume share its attachment.

    The volume of a mount can change without its pod: claims get volumes, classes change.
    ``refresh`` updates the uses that are affected by changes since the last call.
    """

    def __init__(self, snapshot: Snapshot, listers: Listers, resolver: Resolver) -> None:
        self._snapshot = snapshot
        self._resolver = resolver
        self._uses = LogReader(snapshot.mounts.log)
        self._claims = LogReader(listers.persistent_volume_claims.log)
        self._volumes = LogReader(listers.persistent_volumes.log)
        self._classes = LogReader(listers.storage_classes.log)
        self._csi_nodes = LogReader(listers.csi_nodes.log)
        self._forget_all()

    def _forget_all(self) -> None:
        #: the volume that each use counts as
        self._counted: dict[Use, CSIVolume] = {}
        #: volume -> row -> number of uses that count as it
        self._rows: dict[CSIVolume, dict[int, int]] = {}
        #: driver -> (at least rows,) int64, distinct volumes in use
        self._counts: dict[str, Int64Array] = {}
        #: claim -> mounts in use that name it
        self._by_claim: dict[ClaimKey, set[Mount]] = {}
        #: claim in use -> name of the volume it is bound to, and the other way round
        self._volume_of: dict[ClaimKey, str] = {}
        self._by_volume: dict[str, set[ClaimKey]] = {}

    # -- reading -------------------------------------------------------------------------------

    def count(self, driver: str) -> Int64Array:
        """(rows,) int64: distinct volumes of the driver in use; read-only."""
        return self._count(driver)[: len(self._snapshot)]

    def rows_with(self, volume: CSIVolume) -> Collection[int]:
        """The rows on which some pod uses the volume."""
        return self._rows.get(volume, {}).keys()

    def volumes_of(self, mounts: Iterable[Mount], node_name: str) -> set[CSIVolume]:
        """The volumes of the mounts that count on the node."""
        volumes = (self._resolver.resolve(mount, node_name) for mount in mounts)
        return {volume for volume in volumes if volume is not None}

    # -- updating ------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Apply the changes since the last call."""
        uses = self._changed_uses()
        if uses is None:
            self._forget_all()
            uses = {(mount, row) for mount, rows in self._snapshot.mounts for row in rows}
        for use in uses:
            self._recount(use)

    def _changed_uses(self) -> set[Use] | None:
        """None: everything may have changed."""
        news = (
            self._uses.news(),
            self._claims.news(),
            self._volumes.news(),
            self._classes.news(),
            self._csi_nodes.news(),
        )
        uses, claims, volumes, classes, csi_nodes = news
        if uses is None or claims is None or volumes is None or classes is None or classes:
            return None
        if self._resolver.depends_on_csi_nodes and (csi_nodes is None or csi_nodes):
            return None
        for volume in volumes:
            claims.extend(self._by_volume.get(volume[1], ()))
        mounts = {mount for claim in claims for mount in self._by_claim.get(claim, ())}
        return {*uses, *((m, row) for m in mounts for row in self._snapshot.mounts.rows(m))}

    def _recount(self, use: Use) -> None:
        mount, row = use
        before = self._counted.pop(use, None)
        if before is not None:
            self._change(before, row, -1)
        rows = self._snapshot.mounts.rows(mount)
        if row in rows:
            self._remember(mount)
            volume = self._resolver.resolve(mount, self._snapshot.names[row])
            if volume is not None:
                self._counted[use] = volume
                self._change(volume, row, 1)
        elif not rows:
            self._forget(mount)

    def _change(self, volume: CSIVolume, row: int, sign: int) -> None:
        rows = self._rows.setdefault(volume, {})
        uses = rows.get(row, 0) + sign
        if uses:
            rows[row] = uses
        else:
            del rows[row]
            if not rows:
                del self._rows[volume]
        if uses == max(sign, 0):
            self._count(volume.driver)[row] += sign

    def _remember(self, mount: Mount) -> None:
        """Remember the objects that the volume of the mount depends on."""
        key = _claim_key(mount)
        if key is None:
            return
        self._by_claim.setdefault(key, set()).add(mount)
        claim = self._resolver.claim_of(mount)
        self._bind(key, claim.spec.volume_name if claim is not None else "")

    def _forget(self, mount: Mount) -> None:
        """Called when no pod has the mount any more."""
        key = _claim_key(mount)
        mounts = self._by_claim.get(key) if key is not None else None
        if key is None or mounts is None:
            return
        mounts.discard(mount)
        if not mounts:
            del self._by_claim[key]
            self._bind(key, "")

    def _bind(self, claim: ClaimKey, volume: str) -> None:
        """Record that the claim names this volume, "" for none."""
        before = self._volume_of.pop(claim, "")
        if before and before != volume:
            self._by_volume[before].discard(claim)
            if not self._by_volume[before]:
                del self._by_volume[before]
        if volume:
            self._volume_of[claim] = volume
            self._by_volume.setdefault(volume, set()).add(claim)

    def _count(self, driver: str) -> Int64Array:
        counts = self._counts.get(driver)
        rows = len(self._snapshot)
        if counts is None or len(counts) < rows:
            grown = np.zeros(2 * rows, dtype=np.int64)
            if counts is not None:
                grown[: len(counts)] = counts
            counts = self._counts[driver] = grown
        return counts


def _claim_key(mount: Mount) -> ClaimKey | None:
    if mount.kind in (MountKind.CLAIM, MountKind.EPHEMERAL):
        return mount.of[0], mount.of[1]
    return None


class Attachments:
    """Read again when an attachment or a persistent volume changes; few clusters have any."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._versions = (-1, -1)
        self._by_node: dict[str, set[CSIVolume]] = {}

    def by_node(self) -> Mapping[str, set[CSIVolume]]:
        """Name of the node -> the CSI volumes attached to it."""
        listers = self._listers
        if not listers.volume_attachments.version:
            return self._by_node
        versions = (listers.volume_attachments.version, listers.persistent_volumes.version)
        if versions != self._versions:
            self._versions = versions
            self._by_node = {}
            for node_name, volume in self._find_attached():
                self._by_node.setdefault(node_name, set()).add(volume)
        return self._by_node

    def _find_attached(self) -> Iterator[tuple[str, CSIVolume]]:
        for attachment in self._listers.volume_attachments:
            spec = attachment.spec
            volume = self._listers.persistent_volumes.get(spec.source.persistent_volume_name or "")
            if spec.attacher and volume is not None and volume.spec.csi is not None:
                yield spec.node_name, CSIVolume(spec.attacher, volume.spec.csi.volume_handle)
