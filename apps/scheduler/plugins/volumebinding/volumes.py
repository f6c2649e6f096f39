"""The persistent volumes that claims may be bound to, as columns per storage class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apps import quantity
from apps.scheduler.cache.change_log import LogReader
from apps.scheduler.cache.interning import Interner
from apps.scheduler.cache.listers import Listers
from apps.scheduler.framework.node_columns import BoolArray, Int32Array, Int64Array
from apps.scheduler.objects import (
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
)
from apps.scheduler.plugins.helper.storage import class_of_volume
from apps.scheduler.plugins.volumebinding.reaches import Reaches
from apps.scheduler.plugins.volumebinding.topology import node_affinity

_AVAILABLE = "Available"
_SPARE = 16


@dataclass(frozen=True, slots=True)
class Traits:
    """Everything that matching reads: volumes with equal traits match the same claims."""

    #: capacity in 10⁻⁹ bytes
    nanos: int
    mode: str
    attributes_class: str
    access_modes: frozenset[str]
    labels: frozenset[tuple[str, str]]


class ClassVolumes:
    """The volumes of one storage class. A slot is the position of a volume while it exists.

    Columns are dictionary encoded: a claim is evaluated once per distinct value.
    """

    def __init__(self) -> None:
        self.traits: Interner[Traits] = Interner()
        #: distinct node affinities
        self.reaches = Reaches()
        self._volumes: list[PersistentVolume | None] = []
        self._slot_of: dict[str, int] = {}
        self._free: list[int] = []
        #: (slots,) int32, number among ``traits`` and among ``reaches``
        self._trait_ids: Int32Array = np.zeros(_SPARE, dtype=np.int32)
        self._reach_ids: Int32Array = np.zeros(_SPARE, dtype=np.int32)
        #: (slots,) bool, the volume is available and has no claim
        self._open: BoolArray = np.zeros(_SPARE, dtype=np.bool_)
        #: (namespace, claim) -> names of the volumes that name the claim
        self._meant_for: dict[tuple[str, str], set[str]] = {}
        self._ranks_of_sizes: Int64Array = np.empty(0, dtype=np.int64)
        self._ranks_of_names: Int64Array | None = None

    # -- reading -------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Number of slots, free ones included."""
        return len(self._volumes)

    def at(self, slot: int) -> PersistentVolume:
        volume = self._volumes[slot]
        assert volume is not None
        return volume

    def slot_of(self, name: str) -> int:
        return self._slot_of[name]

    @property
    def open(self) -> BoolArray:
        return self._open[: len(self)]

    @property
    def trait_ids(self) -> Int32Array:
        return self._trait_ids[: len(self)]

    @property
    def reach_ids(self) -> Int32Array:
        return self._reach_ids[: len(self)]

    @property
    def is_worn(self) -> bool:
        """Whether most of the known values belong to deleted volumes."""
        known = max(len(self.traits), len(self.reaches))
        return known > 2 * len(self._slot_of) + _SPARE

    def rebuild(self) -> ClassVolumes:
        """The same volumes in new slots."""
        fresh = ClassVolumes()
        for volume in self._volumes:
            if volume is not None:
                fresh.put(volume)
        return fresh

    def smallest_first(self, slots: Int64Array) -> Int64Array:
        """The slots by capacity, those of equal capacity by name."""
        sizes = self._size_ranks()[self.trait_ids[slots]]
        return slots[np.lexsort((self._name_ranks()[slots], sizes))]

    def meant_for(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        """The volumes that name this claim (and no other claim of the same name), by name."""
        names = self._meant_for.get((claim.metadata.namespace, claim.metadata.name), ())
        volumes = (self.at(self._slot_of[name]) for name in sorted(names))
        return [volume for volume in volumes if is_meant_for(volume, claim)]

    def _size_ranks(self) -> Int64Array:
        """(traits,) int64: the smaller the capacity, the smaller the rank."""
        if len(self._ranks_of_sizes) != len(self.traits):
            sizes = {traits.nanos for traits in self.traits.values}
            ranks = {nanos: rank for rank, nanos in enumerate(sorted(sizes))}
            listed = [ranks[traits.nanos] for traits in self.traits.values]
            self._ranks_of_sizes = np.array(listed, dtype=np.int64)
        return self._ranks_of_sizes

    def _name_ranks(self) -> Int64Array:
        """(slots,) int64: rank of the volume's name among all names."""
        if self._ranks_of_names is None:
            self._ranks_of_names = np.zeros(len(self), dtype=np.int64)
            for rank, name in enumerate(sorted(self._slot_of)):
                self._ranks_of_names[self._slot_of[name]] = rank
        return self._ranks_of_names

    # -- updating ------------------------------------------------------------------------------

    def put(self, volume: PersistentVolume) -> None:
        """Add a volume, or replace its earlier version."""
        name = volume.metadata.name
        slot = self._slot_of.get(name)
        if slot is None:
            slot = self._slot_of[name] = self._free.pop() if self._free else self._new_slot()
            self._ranks_of_names = None
        else:
            self._release(slot)
        self._volumes[slot] = volume
        self._trait_ids[slot] = self.traits.id(traits_of(volume))
        self._reach_ids[slot] = self.reaches.id(node_affinity(volume))
        reference = volume.spec.claim_ref
        if reference is not None:
            self._meant_for.setdefault((reference.namespace, reference.name), set()).add(name)
        self._open[slot] = reference is None and is_available(volume)

    def remove(self, name: str) -> None:
        slot = self._slot_of.pop(name)
        self._release(slot)
        self._volumes[slot] = None
        self._open[slot] = False
        self._free.append(slot)
        self._ranks_of_names = None

    def _release(self, slot: int) -> None:
        """Forget the claim that the volume names."""
        volume = self.at(slot)
        reference = volume.spec.claim_ref
        if reference is not None:
            key = (reference.namespace, reference.name)
            self._meant_for[key].discard(volume.metadata.name)
            if not self._meant_for[key]:
                del self._meant_for[key]

    def _new_slot(self) -> int:
        slot = len(self._volumes)
        self._volumes.append(None)
        if slot == len(self._open):
            self._trait_ids = np.resize(self._trait_ids, 2 * slot)
            self._reach_ids = np.resize(self._reach_ids, 2 * slot)
            self._open = np.resize(self._open, 2 * slot)
        return slot


class VolumeTables:
    """The volumes of all classes, in their assumed versions."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._volumes = LogReader(listers.persistent_volumes.log)
        self._assumptions = LogReader(listers.assumed_volumes.log)
        self._tables: dict[str, ClassVolumes] = {}
        self._class_of: dict[str, str] = {}

    def of_class(self, name: str) -> ClassVolumes:
        """The volumes of a class, brought up to date; slots last until the next change."""
        self._refresh()
        table = self._tables.get(name)
        if table is None:
            return ClassVolumes()
        if table.is_worn:
            table = self._tables[name] = table.rebuild()
        return table

    def _refresh(self) -> None:
        changed, assumed = self._volumes.news(), self._assumptions.news()
        if changed is None or assumed is None:
            self._tables.clear()
            self._class_of.clear()
            names = {volume.metadata.name for volume in self._listers.persistent_volumes}
        else:
            names = {name for _, name in (*changed, *assumed)}
        for name in sorted(names):
            self._update(name)

    def _update(self, name: str) -> None:
        volume = self._listers.assumed_volumes.get(name)
        before = self._class_of.pop(name, None)
        now = class_of_volume(volume) if volume is not None else None
        if before is not None and before != now:
            self._tables[before].remove(name)
        if volume is not None and now is not None:
            self._class_of[name] = now
            self._tables.setdefault(now, ClassVolumes()).put(volume)


def traits_of(volume: PersistentVolume) -> Traits:
    spec = volume.spec
    return Traits(
        nanos=quantity.parse(spec.capacity.get("storage", 0)).nanos,
        mode=spec.volume_mode,
        attributes_class=spec.volume_attributes_class_name or "",
        access_modes=frozenset(spec.access_modes),
        labels=frozenset(volume.metadata.labels.items()),
    )


def is_available(volume: PersistentVolume) -> bool:
    return volume.status.phase == _AVAILABLE and volume.metadata.deletion_timestamp is None


def is_meant_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume names the claim; a reference without uid matches any such claim."""
    reference: ObjectReference | None = volume.spec.claim_ref
    if reference is None:
        return False
    meta = claim.metadata
    same = (reference.namespace, reference.name) == (meta.namespace, meta.name)
    return same and reference.uid in ("", meta.uid)
