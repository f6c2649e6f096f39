"""Resources of pods, under the metric names of kube-scheduler and kube-state-metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from django.db import connection
from prometheus_client.metrics_core import GaugeMetricFamily

from apps import quantity
from apps.cluster import sql
from apps.cluster.models import Cluster
from apps.cluster.pods import footprint

_LABELS = ("namespace", "pod", "node", "scheduler", "priority", "resource", "unit")
_BYTES = frozenset({"memory", "storage", "ephemeral-storage"})
_NANO = 10**9

#: name in kube-state-metrics -> resource, help
_OVERHEAD = {
    "kube_pod_overhead_cpu_cores": ("cpu", "CPU of a pod's overhead, in cores."),
    "kube_pod_overhead_memory_bytes": ("memory", "Memory of a pod's overhead, in bytes."),
}


def requests_and_limits(cluster: Cluster) -> list[GaugeMetricFamily]:
    """Requests and limits of every pod that has not ended, one series for each resource."""
    requests = GaugeMetricFamily(
        "kube_pod_resource_request",
        "[STABLE] Requests of a pod, as the scheduler counts them, in the resource's unit.",
        labels=_LABELS,
    )
    limits = GaugeMetricFamily(
        "kube_pod_resource_limit",
        "[STABLE] Limits of a pod, as the scheduler counts them, in the resource's unit.",
        labels=_LABELS,
    )
    for labels, body in _running_pods(cluster):
        for family, amounts in (
            (requests, footprint.pod_requests(body)),
            (limits, footprint.pod_limits(body)),
        ):
            for resource, amount in amounts.items():
                if amount:
                    value = amount / 1000 if resource == "cpu" else amount
                    family.add_metric((*labels, resource, _unit(resource)), value)
    return [requests, limits]


def overhead(clusters: Sequence[Cluster], *, named: bool = False) -> list[GaugeMetricFamily]:
    """The overhead of pods, if any; `named` adds the cluster's name."""
    labels = (*(("cluster",) if named else ()), "namespace", "pod", "uid")
    families = [
        GaugeMetricFamily(name, f"[EXPERIMENTAL] {text}", labels=labels)
        for name, (_, text) in _OVERHEAD.items()
    ]
    names = {cluster.pk: cluster.name for cluster in clusters}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT cluster_id, namespace, name, uid::text, (body->'spec'->'overhead')::text "
            "FROM cluster_pod WHERE cluster_id = ANY(%s) AND body->'spec' ? 'overhead' ORDER BY id",
            [list(names)],
        )
        for pk, namespace, pod, uid, text in cursor.fetchall():
            listed = sql.load_json(text)
            values = (*((names[pk],) if named else ()), namespace, pod, uid)
            for family, (resource, _) in zip(families, _OVERHEAD.values(), strict=True):
                if resource in listed:
                    with suppress(quantity.QuantityError):
                        amount = quantity.parse(listed[resource]).nanos / _NANO
                        family.add_metric(values, amount)
    return families


def _running_pods(cluster: Cluster) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Labels and body (only the spec) of pods that have not ended; unbound pods never have."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT namespace, name, node_name, scheduler_name, "
            "coalesce(body->'spec'->>'priority', ''), (body->'spec')::text FROM cluster_pod "
            "WHERE cluster_id = %s AND (node_name = '' OR phase NOT IN ('Succeeded', 'Failed')) "
            "ORDER BY id",
            [cluster.pk],
        )
        for *labels, spec in cursor.fetchall():
            yield tuple(labels), {"spec": sql.load_json(spec)}


def _unit(resource: str) -> str:
    if resource == "cpu":
        return "cores"
    if resource in _BYTES or resource.startswith("hugepages-"):
        return "bytes"
    return "integer" if resource.startswith("attachable-volumes-") else ""
