"""How many objects a cluster may have on this site."""

from __future__ import annotations

import time
from functools import cache
from typing import Final

from django.conf import settings
from django.db import connection

from apps.cluster import kinds
from apps.cluster.errors import Forbidden

#: Objects are counted again after so long.
_SECONDS: Final = 5.0
#: cluster's id -> (number of objects, when it expires on the monotonic clock)
_counted: dict[int, tuple[int, float]] = {}


def check_room(cluster_id: int, version: int, new: int = 1) -> None:
    """Raise Forbidden if the cluster has no room for `new` more objects.

    A cluster has at most as many objects as its `version`, so most are never counted.
    """
    if _room_for(cluster_id, version, new) < new:
        raise no_room(cluster_id)
    _note(cluster_id, new)


def take_room(cluster_id: int, version: int, new: int) -> int:
    """How many of `new` objects the cluster has room for, which are created now."""
    admitted = _room_for(cluster_id, version, new)
    _note(cluster_id, admitted)
    return admitted


def no_room(cluster_id: int) -> Forbidden:
    """The refusal of an object for which `take_room` has found no room."""
    known, _ = _counted[cluster_id]
    return Forbidden(
        f"the cluster has {known:,} objects, and a cluster of this site has at most "
        f"{settings.CONFIG.cluster_objects:,} (SCHEDWEB_CLUSTER_OBJECTS)"
    )


def has_room(version: int) -> bool:
    """Whether a cluster of this version has room for one more object, however many it has."""
    most = settings.CONFIG.cluster_objects
    return not most or version < most


def needs_count(cluster_id: int, version: int) -> bool:
    """Whether `check_room` reads the database."""
    most = settings.CONFIG.cluster_objects
    if not most or version < most:
        return False
    return time.monotonic() >= _counted.get(cluster_id, (0, 0.0))[1]


def _room_for(cluster_id: int, version: int, new: int) -> int:
    """How many of `new` objects the cluster has room for."""
    most = settings.CONFIG.cluster_objects
    if not most or version + new <= most:
        return new
    known, expiry = _counted.get(cluster_id, (0, 0.0))
    if time.monotonic() >= expiry:
        known = _count(cluster_id)
        _counted[cluster_id] = (known, time.monotonic() + _SECONDS)
    return min(new, max(most - known, 0))


def _note(cluster_id: int, new: int) -> None:
    """Count objects that are about to be created, unless the cluster's are not counted."""
    if cluster_id in _counted:
        known, expiry = _counted[cluster_id]
        _counted[cluster_id] = (known + new, expiry)


def _count(cluster_id: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_statement(), {"cluster": cluster_id})
        count: int = cursor.fetchone()[0]
    return count


@cache
def _statement() -> str:
    tables = dict.fromkeys(kind.table for kind in kinds.ALL)
    counts = [f"(SELECT count(*) FROM {table} WHERE cluster_id = %(cluster)s)" for table in tables]
    return f"SELECT {' + '.join(counts)}"
