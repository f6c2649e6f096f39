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
    most = settings.CONFIG.cluster_objects
    if not most or version + new <= most:
        return
    known, expiry = _counted.get(cluster_id, (0, 0.0))
    if time.monotonic() >= expiry:
        known = _count(cluster_id)
        expiry = time.monotonic() + _SECONDS
    _counted[cluster_id] = (known, expiry)
    if known + new > most:
        raise Forbidden(
            f"the cluster has {known:,} objects, and a cluster of this site has at most {most:,} "
            "(SCHEDWEB_CLUSTER_OBJECTS)"
        )
    _counted[cluster_id] = (known + new, expiry)


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


def _count(cluster_id: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_statement(), {"cluster": cluster_id})
        found: int = cursor.fetchone()[0]
    return found


@cache
def _statement() -> str:
    tables = dict.fromkeys(kind.table for kind in kinds.ALL)
    counts = [f"(SELECT count(*) FROM {table} WHERE cluster_id = %(cluster)s)" for table in tables]
    return f"SELECT {' + '.join(counts)}"
