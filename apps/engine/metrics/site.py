"""The metrics of the site itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import connection
from prometheus_client.metrics_core import GaugeMetricFamily

from apps.cluster import storage
from apps.cluster.models import Cluster
from apps.engine.opinions import read_agreement
from apps.engine.workers.lease import HELD


def families(
    clusters: Sequence[Cluster], parts: Mapping[str, str] | None
) -> list[GaugeMetricFamily]:
    """Clusters, loops and heartbeats; `parts` are the results of the readiness checks."""
    families = [_clusters(clusters), *_loops(), _heartbeats(), *_space(), _opinions(clusters)]
    if parts is not None:
        up = GaugeMetricFamily(
            "schedweb_part_up",
            "Whether a part of the site works, as /readyz reports.",
            labels=["part"],
        )
        for part, fault in parts.items():
            up.add_metric([part], not fault)
        families.append(up)
    return families


def _clusters(clusters: Sequence[Cluster]) -> GaugeMetricFamily:
    family = GaugeMetricFamily("schedweb_clusters", "Clusters, by state.", labels=["state"])
    paused = sum(cluster.paused for cluster in clusters)
    family.add_metric(["paused"], paused)
    family.add_metric(["running"], len(clusters) - paused)
    return family


def _loops() -> list[GaugeMetricFamily]:
    held = GaugeMetricFamily(
        "schedweb_loop_held",
        "Whether a worker holds the cluster's lease now.",
        labels=["cluster"],
    )
    behind = GaugeMetricFamily(
        "schedweb_loop_behind_versions",
        "Changes of the cluster that its loop has not handled yet.",
        labels=["cluster"],
    )
    failed = GaugeMetricFamily(
        "schedweb_loop_failures",
        "Runs of the cluster's loop in a row that ended with an error; 0 after a success.",
        labels=["cluster"],
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT c.name, coalesce(l.expires_at {HELD}, false), "
            "c.resource_version - l.consumed_version, l.failures FROM controlplane_looplease l "
            "JOIN cluster_cluster c ON c.id = l.cluster_id ORDER BY c.name"
        )
        for name, is_held, versions, failures in cursor.fetchall():
            held.add_metric([name], is_held)
            failed.add_metric([name], failures)
            behind.add_metric([name], max(0, versions))
    return [held, behind, failed]


def _opinions(clusters: Sequence[Cluster]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(
        "schedweb_second_opinions",
        "Bindings of external schedulers that were reviewed and are retained, by verdict.",
        labels=["cluster", "verdict"],
    )
    for cluster in clusters:
        if cluster.scheduling == Cluster.Scheduling.EXTERNAL:
            for verdict, number in read_agreement(cluster).counts.items():
                family.add_metric([cluster.name, verdict], number)
    return family


def _space() -> list[GaugeMetricFamily]:
    """The size of the database; and the room for it, if it is on a disk of this machine."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        row = cursor.fetchone()
    used = GaugeMetricFamily("schedweb_database_bytes", "Size of the site's database.")
    used.add_metric([], row[0] if row is not None else 0)
    free = storage.free_megabytes()
    if free is None:
        return [used]
    room = GaugeMetricFamily(
        "schedweb_disk_free_bytes", "Free space on the disk of the embedded database."
    )
    room.add_metric([], free * 2**20)
    return [used, room]


def _heartbeats() -> GaugeMetricFamily:
    family = GaugeMetricFamily(
        "schedweb_heartbeat_age_seconds",
        "Seconds since the last heartbeat of beat and each worker process.",
        labels=["name"],
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, extract(epoch FROM clock_timestamp() - at)::float8 "
            "FROM controlplane_heartbeat ORDER BY name"
        )
        for name, age in cursor.fetchall():
            family.add_metric([name], age)
    return family
