"""Where the objects that extenders are given come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from apps.scheduler.objects import KubeObject


class ObjectBodies(Protocol):
    """JSON of objects the scheduler knows; whoever keeps them in full can give more."""

    def __call__(self, kind: str, items: Sequence[KubeObject]) -> Sequence[bytes]: ...


def declared_fields(kind: str, items: Sequence[KubeObject]) -> list[bytes]:
    """The fields that the scheduler itself reads: all there is of an object in the core."""
    return [msgspec.json.encode(item) for item in items]
