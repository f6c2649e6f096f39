"""The clusters of decisions and operations, for the decision who may read or cancel them."""

from __future__ import annotations

from apps.cluster.access.gate import Owned
from apps.engine.models import Operation, SchedulingDecision


def owner_of_decision(number: int) -> Owned | None:
    """The cluster of a decision, which may be deleted; None if there is no such decision."""
    rows = SchedulingDecision.objects.filter(pk=number).values_list("cluster_id", flat=True)
    cluster = rows.first()
    return None if cluster is None else Owned(cluster)


def owner_of_operation(number: int) -> Owned | None:
    """The cluster and the user of an operation; None if there is no such operation."""
    rows = Operation.objects.filter(pk=number).values_list("cluster_id", "cluster__name", "user")
    row = rows.first()
    return None if row is None else Owned(row[0], row[1] or "", row[2])
