"""Extended resources that DeviceClasses back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from apps.scheduler.cache.listers import Listers
from apps.scheduler.features import FeatureGates
from apps.scheduler.framework.resources import is_extended
from apps.scheduler.objects import DeviceClass

IMPLICIT_PREFIX: Final = "deviceclass.resource.kubernetes.io/"


def may_be_backed(resource: str) -> bool:
    return resource.startswith(IMPLICIT_PREFIX) or is_extended(resource)


class ClassResolver:
    """The class that backs an extended resource: by its extendedResourceName, or by its own name.

    If several classes have the name, it is the newest, and of equally new ones the first by name.
    """

    def __init__(self, listers: Listers, gates: FeatureGates) -> None:
        self._is_on = gates.enabled("DRAExtendedResource")
        self._classes = listers.device_classes
        self._version = -1
        self._backing: Mapping[str, DeviceClass] = {}

    def get(self, name: str) -> DeviceClass | None:
        return self._classes.get(name)

    @property
    def version(self) -> int:
        """Increases with every change of a class."""
        return self._classes.version

    def backing(self, resource: str) -> DeviceClass | None:
        """The class behind an extended resource; none while DRAExtendedResource is off."""
        if not self._is_on or not len(self._classes) or not may_be_backed(resource):
            return None
        if self._version != self._classes.version:
            self._version, self._backing = self._classes.version, self._resolve()
        return self._backing.get(resource)

    def _resolve(self) -> dict[str, DeviceClass]:
        backing: dict[str, DeviceClass] = {}
        by_name = sorted(self._classes, key=lambda each: each.metadata.name, reverse=True)
        for each in sorted(by_name, key=lambda each: each.metadata.creation_timestamp or ""):
            if each.spec.extended_resource_name:
                backing[each.spec.extended_resource_name] = each
        for each in by_name:
            backing[IMPLICIT_PREFIX + each.metadata.name] = each
        return backing
