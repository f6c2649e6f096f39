"""The objects that are sent to extenders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from apps.scheduler.objects import KubeObject


class ObjectBodies(Protocol):
    """JSON of objects that the scheduler knows; the control plane supplies complete objects."""

    def __call__(self, kind: str, items: Sequence[KubeObject]) -> Sequence[bytes]: ...


def declared_fields(kind: str, items: Sequence[KubeObject]) -> list[bytes]:
    """The declared fields of the objects: the core has no others."""
    return [msgspec.json.encode(item) for item in items]
