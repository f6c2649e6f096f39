"""The number of pending pods by queue and plugin, counted from rows at each scrape."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from django.db import connection

from apps.cluster.models import Cluster
from apps.engine.models import ConfigurationRevision, QueueEntry
from apps.engine.profiles import revisions
from apps.scheduler.metrics import definitions
from apps.scheduler.metrics.series import Labels

#: series of gauges by metric name
Gauges = dict[str, list[tuple[Labels, float]]]

#: pending pods of the schedulers of active profiles; pods without an entry are new, in activeQ
_PENDING = """
    SELECT p.cluster_id, coalesce(q.queue, 'active'), p.scheduler_name, count(*),
        q.unschedulable_plugins || q.pending_plugins AS plugins
    FROM unnest(%s::bigint[], %s::text[]) AS served (cluster_id, scheduler_name)
    JOIN cluster_pod p USING (cluster_id, scheduler_name)
    LEFT JOIN controlplane_queueentry q ON q.cluster_id = p.cluster_id AND q.pod_uid = p.uid
    WHERE p.node_name = '' AND p.phase NOT IN ('Succeeded', 'Failed')
    GROUP BY 1, 2, 3, plugins
"""


def waiting_pods(clusters: Sequence[Cluster]) -> dict[int, Gauges]:
    """Cluster id -> pending pods by queue, and by the plugins that rejected them."""
    served = _active_schedulers(clusters)
    sizes = {
        cluster.pk: dict.fromkeys((queue.value for queue in QueueEntry.Queue), 0)
        for cluster in clusters
    }
    refused: dict[int, dict[Labels, int]] = defaultdict(lambda: defaultdict(int))
    with connection.cursor() as cursor:
        cursor.execute(_PENDING, [[pk for pk, _ in served], [name for _, name in served]])
        for pk, queue, profile, pods, plugins in cursor.fetchall():
            sizes[pk][queue] += pods
            for plugin in set(plugins or ()):
                refused[pk][plugin, profile] += pods
    return {
        pk: {
            definitions.PENDING_PODS.name: [((queue,), n) for queue, n in counted.items()],
            definitions.UNSCHEDULABLE_PODS.name: [*refused[pk].items()],
        }
        for pk, counted in sizes.items()
    }


def _active_schedulers(clusters: Sequence[Cluster]) -> list[tuple[int, str]]:
    """(cluster id, schedulerName) of every active profile."""
    active = ConfigurationRevision.objects.filter(cluster__in=clusters, active=True)
    return [
        (revision.cluster_id, profile.scheduler_name)
        for revision in active
        for profile in revisions.load_configuration(revision).profiles
    ]
