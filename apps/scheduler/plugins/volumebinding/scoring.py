"""Scores by storage: how much of the capacity for a class the pod's claims would use.

Either the volumes that the claims would be bound to count, or, on nodes where none would be, the
CSIStorageCapacity from which volumes would be provisioned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from apps import quantity
from apps.scheduler.config.resource_args import Shape, UtilizationShapePoint
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.node_columns import BoolArray, Int64Array
from apps.scheduler.framework.resources import EPHEMERAL_STORAGE
from apps.scheduler.plugins.helper.arithmetic import rounded, sum_text
from apps.scheduler.plugins.helper.resource_text import amount
from apps.scheduler.plugins.helper.shapes import (
    describe_line,
    line_of_shape,
    points_around,
    points_of,
)
from apps.scheduler.plugins.helper.storage import class_of_claim
from apps.scheduler.plugins.volumebinding.binder import Pick, PodVolumes
from apps.scheduler.plugins.volumebinding.matching import NO_VOLUME
from apps.scheduler.plugins.volumebinding.provisioning import NO_CAPACITY

#: the less of its storage a node would use, the better
DEFAULT_SHAPE: Final[Shape] = (
    UtilizationShapePoint(utilization=0, score=10),
    UtilizationShapePoint(utilization=100, score=0),
)
_FULL: Final = 100


@dataclass(slots=True)
class ClassStorage:
    """The storage of one class on n nodes."""

    #: (n,) int64 bytes
    requested: Int64Array
    capacity: Int64Array
    #: (n,) bool: nodes on which the class counts
    counts: BoolArray


def storage_by_class(
    volumes: PodVolumes, rows: int, *, provisioned: bool = True
) -> dict[str, ClassStorage]:
    """Class → its storage on each of the rows.

    Without `provisioned` only volumes that exist count.
    """
    classes: dict[str, ClassStorage] = {}
    for pick in volumes.picks:
        _add_pick(_of(classes, class_of_claim(pick.claim), rows), pick)
    if not provisioned:
        return classes
    static = np.zeros(rows, dtype=np.bool_)
    for storage in classes.values():
        static |= storage.counts
    for provision in volumes.provisions:
        where = provision.where & ~static & (provision.capacity != NO_CAPACITY)
        storage = _of(classes, class_of_claim(provision.claim), rows)
        storage.counts |= where
        storage.capacity[where] = provision.capacity[where]
        storage.requested[where] += requested_bytes(provision.claim.spec.resources.requests)
    return classes


def requested_bytes(requests: dict[str, quantity.Quantity]) -> int:
    return quantity.value(requests["storage"]) if "storage" in requests else 0


def score_storage(classes: Sequence[ClassStorage], shape: Shape, rows: int) -> Int64Array:
    """(rows,) int64: the rounded mean of the classes' scores; 0 on nodes where none counts."""
    line = line_of_shape(shape)
    total, count = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
    for storage in classes:
        total += np.where(storage.counts, line[utilization(storage)], 0)
        count += storage.counts
    # math.Round: halves away from zero; nothing here is negative.
    return np.floor(total / np.maximum(count, 1) + 0.5).astype(np.int64)


def utilization(storage: ClassStorage) -> Int64Array:
    """(n,) int64 percent, rounded down; 100 without capacity, or with too little."""
    fits = (storage.capacity > 0) & (storage.requested <= storage.capacity)
    share = storage.requested * _FULL // np.maximum(storage.capacity, 1)
    return np.where(fits, share, _FULL)


def describe_storage(classes: dict[str, ClassStorage], shape: Shape) -> Iterator[Detail]:
    """What the score of the only row follows from."""
    line, points, counted = line_of_shape(shape), points_of(shape), list[int]()
    for name, storage in classes.items():
        if not storage.counts[0]:
            continue
        requested, capacity = int(storage.requested[0]), int(storage.capacity[0])
        percent = int(utilization(storage)[0])
        counted.append(int(line[percent]))
        figures = {
            "class": name,
            "requested": requested,
            "capacity": capacity,
            "utilization": percent,
            "between": list(dict.fromkeys(points_around(points, percent))),
            "score": counted[-1],
        }
        asked, there = (amount(EPHEMERAL_STORAGE, each) for each in (requested, capacity))
        yield Detail(
            f"class {name}: {asked} requested of {there}: "
            f"{describe_line(points, percent, counted[-1])}",
            figures,
        )
    total = int(score_storage(list(classes.values()), shape, 1)[0])
    if not counted:
        yield Detail("no storage counts: 0", {"score": total})
        return
    mean = rounded(Fraction(sum(counted), len(counted)), total, "rounded to")
    yield Detail(f"({sum_text([*map(str, counted)])}) / {len(counted)} = {mean}", {"score": total})


def _of(classes: dict[str, ClassStorage], name: str, rows: int) -> ClassStorage:
    if name not in classes:
        classes[name] = ClassStorage(
            np.zeros(rows, dtype=np.int64),
            np.zeros(rows, dtype=np.int64),
            np.zeros(rows, dtype=np.bool_),
        )
    return classes[name]


def _add_pick(storage: ClassStorage, pick: Pick) -> None:
    for slot in np.unique(pick.slots).tolist():
        if slot == NO_VOLUME:
            continue
        here = pick.slots == slot
        storage.counts |= here
        storage.requested[here] += requested_bytes(pick.claim.spec.resources.requests)
        storage.capacity[here] += requested_bytes(pick.volumes.at(slot).spec.capacity)
