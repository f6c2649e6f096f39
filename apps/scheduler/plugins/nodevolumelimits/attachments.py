"""Volumes that are attached to nodes according to VolumeAttachment objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apps.scheduler.cache.listers import Listers
from apps.scheduler.plugins.nodevolumelimits.attachable import CSIVolume


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
