"""Commits a stepped attempt: it is run again by an engine of the paused cluster, and recorded."""

from __future__ import annotations

from apps.cluster.errors import Conflict
from apps.cluster.models import Cluster
from apps.engine.loop.engine import Engine
from apps.engine.models import SchedulingDecision
from apps.engine.workers import lease
from apps.studies.debugger.cycle import Changes, Cycle
from apps.studies.debugger.stepping import step
from apps.studies.explanations.states import states


def commit(cluster: Cluster, uid: str, changes: Changes, *, version: int) -> SchedulingDecision:
    """Bind the pod, or return it to the queue, as an attempt of the scheduler would.

    Raises Conflict if the cluster is not paused or has changed since `version`, and the errors of
    `step`. Returns the row of the ledger.
    """
    shown = step(cluster, uid, changes, version=version)
    with states.now(cluster) as state:
        pod = state.pending[uid]
    held = lease.acquire(cluster.pk)
    if held is None:
        raise Conflict("clusters", cluster.name, "its scheduler is still running: try again")
    try:
        engine = Engine.load(cluster, held)
        try:
            engine.schedule_by_hand(pod, version, Cycle(changes, shown.decision.node))
        finally:
            engine.close()
    finally:
        held.release()
    return SchedulingDecision.objects.filter(cluster=cluster, pod_uid=uid).latest("id")
