"""Links to the files of what a list shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from apps.cluster.models import Cluster
from apps.engine import exported_files, periods
from apps.engine.periods import Period

_LABELS = {"csv": "CSV", "json": "JSON", "jsonl": "JSON Lines"}


def list_files(
    cluster: Cluster | None,
    route: str,
    names: Sequence[str],
    query: Mapping[str, Any],
    period: Period,
    *,
    formats: Sequence[str] = tuple(exported_files.FORMATS),
    fixed: Mapping[str, str] | None = None,
) -> list[tuple[str, str]]:
    """(label, address) of the export `route` with the filters `names` of a page, by format.

    Without a cluster, the export is of the site. `fixed` are further parameters.

    The period is part of the address as times in UTC, so that a file has what the page shows,
    whenever it is downloaded.
    """
    filters = {name: str(query.get(name) or "") for name in names}
    given = {name: value for name, value in filters.items() if value}
    for name in periods.PARAMETERS:
        given.pop(name, None)
    parameters = {**period.parameters(), **(fixed or {})}
    address = reverse(route, kwargs=_name_cluster(cluster))
    return [
        (_LABELS[each], f"{address}?{urlencode({'format': each, **given, **parameters})}")
        for each in formats
    ]


def _name_cluster(cluster: Cluster | None) -> dict[str, Any]:
    if cluster is None:
        return {}
    if cluster.deleted_at is not None:
        return {"cluster_id": cluster.pk}
    return {"cluster": cluster.name}
