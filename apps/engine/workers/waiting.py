"""Waits until a cluster's loop has nothing left to do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from django.db import connection

from apps.cluster.models import Cluster

_POLL_SECONDS = 0.2

_STATE = """
    SELECT l.consumed_version,
        (SELECT count(*) FROM cluster_pod p
         LEFT JOIN controlplane_queueentry q ON q.cluster_id = p.cluster_id AND q.pod_uid = p.uid
         WHERE p.cluster_id = l.cluster_id AND p.node_name = ''
         AND p.phase NOT IN ('Succeeded', 'Failed')
         AND (q.id IS NULL OR q.queue = 'active' OR q.queue = 'backoff'
              -- on a clock that stands still, backoff does not end by waiting
              AND (c.manual_time IS NULL OR q.backoff_expiry <= c.manual_time)))
        + (SELECT count(*) FROM controlplane_queueactivation a WHERE a.cluster_id = l.cluster_id)
    FROM controlplane_looplease l JOIN cluster_cluster c ON c.id = l.cluster_id
    WHERE l.cluster_id = %s
"""


@dataclass(frozen=True, slots=True)
class LoopState:
    """The progress of the loop."""

    #: The loop has handled every change up to this version ...
    consumed_version: int
    #: ... and has to reach this one.
    wanted_version: int
    #: Pods that are active, in flight or in backoff, and manually activated pods; without pods of
    #: other schedulers.
    waiting_pods: int

    @property
    def quiet(self) -> bool:
        return self.consumed_version >= self.wanted_version and not self.waiting_pods


def loop_states(cluster: Cluster, *, timeout: float, ignored_pods: int = 0) -> Iterator[LoopState]:
    """Yield the loop's state repeatedly until it is quiet; raises TimeoutError on timeout.

    The loop has to reach the version of the cluster at the time of the call. Raises
    Cluster.DoesNotExist if the cluster is deleted meanwhile.
    """
    wanted = Cluster.objects.values_list("resource_version", flat=True).get(pk=cluster.pk)
    deadline = time.monotonic() + timeout
    while True:
        with connection.cursor() as cursor:
            cursor.execute(_STATE, [cluster.pk])
            row = cursor.fetchone()
        if row is None:
            raise Cluster.DoesNotExist(cluster.name)
        state = LoopState(row[0], wanted, row[1] - ignored_pods)
        yield state
        if state.quiet:
            return
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(_POLL_SECONDS)
