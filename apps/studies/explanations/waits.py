"""How long a pending pod is expected to wait, from the waiting times of comparable pods.

Comparable are pods with the same scheduler and priority that waited for at least as long as this
one has: what they waited in addition is what it may have to wait.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import quantiles
from typing import ClassVar, Final

from django.db import connection

from apps.cluster.models import Cluster
from apps.cluster.tables.columns import duration
from apps.scheduler.objects import Pod

#: The newest placements that are looked at.
_NEWEST: Final = 5000
#: No estimate follows from fewer pods.
LEAST: Final = 10

#: The last placement of a pod counts; pods that no longer exist have no row.
_WAITS: Final = """
    SELECT p.scheduler_name, p.priority, extract(epoch FROM max(d.at) - p.created_at)::float8
    FROM (
        SELECT pod_uid, namespace, name, at FROM controlplane_schedulingdecision
        WHERE cluster_id = %(cluster)s AND result = 'scheduled' ORDER BY id DESC LIMIT %(newest)s
    ) d JOIN cluster_pod p ON p.cluster_id = %(cluster)s AND p.namespace = d.namespace
        AND p.name = d.name AND p.uid = d.pod_uid
    WHERE p.node_name <> '' AND (p.scheduler_name, p.priority) IN (
        SELECT * FROM unnest(%(schedulers)s::text[], %(priorities)s::int[]))
    GROUP BY p.id
"""

#: schedulerName and priority.
_Class = tuple[str, int]


@dataclass(frozen=True, slots=True)
class WaitEstimate:
    """From pods with the same scheduler and priority that waited at least as long; in seconds."""

    #: how long the pod has waited
    waited: float
    #: half of the comparable pods waited for no longer than this from then on
    median: float
    #: the 10th percentile
    low: float
    #: the 90th percentile
    high: float
    #: how many pods the figures are from
    pods: int

    ANSWER: ClassVar = ("sentence", ...)

    @property
    def sentence(self) -> str:
        low, median, high = (duration(round(each)) for each in (self.low, self.median, self.high))
        return (
            f"Expected to wait {median} more ({low} to {high}): from {self.pods:,} pods of the "
            f"same priority that also waited {duration(round(self.waited))}."
        )


def estimate_waits(cluster: Cluster, pods: Iterable[Pod]) -> dict[str, WaitEstimate]:
    """uid -> the further wait of pending pods; those with too few comparable pods are left out.

    The interval covers 80 % of the comparable pods. Pods that were deleted since are not counted.
    """
    listed = list(pods)
    known = _read_waits(cluster, {_class_of(pod) for pod in listed})
    now = cluster.now()
    estimates = {}
    for pod in listed:
        created = pod.metadata.creation_timestamp
        if created is None:
            continue
        waited = max(0.0, (now - datetime.fromisoformat(created)).total_seconds())
        estimate = _estimate(waited, known.get(_class_of(pod), ()))
        if estimate is not None:
            estimates[pod.metadata.uid] = estimate
    return estimates


def _class_of(pod: Pod) -> _Class:
    return pod.spec.scheduler_name, pod.spec.priority or 0


def _estimate(waited: float, waits: Sequence[float]) -> WaitEstimate | None:
    further = [each - waited for each in waits if each >= waited]
    if len(further) < LEAST:
        return None
    tenths = quantiles(further, n=10, method="inclusive")
    return WaitEstimate(waited, tenths[4], tenths[0], tenths[8], len(further))


def _read_waits(cluster: Cluster, classes: Iterable[_Class]) -> Mapping[_Class, Sequence[float]]:
    """The waiting times of the newest placed pods of each class, in seconds."""
    wanted = sorted(classes)
    waits: dict[_Class, list[float]] = defaultdict(list)
    if not wanted:
        return waits
    with connection.cursor() as cursor:
        cursor.execute(
            _WAITS,
            {
                "cluster": cluster.pk,
                "newest": _NEWEST,
                "schedulers": [scheduler for scheduler, _ in wanted],
                "priorities": [priority for _, priority in wanted],
            },
        )
        for scheduler, priority, waited in cursor.fetchall():
            waits[scheduler, priority].append(max(0.0, waited))
    return waits
