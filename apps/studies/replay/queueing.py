"""The queue at the first decision that differs, from the recorded moves and decisions."""

from __future__ import annotations

from collections.abc import Mapping

from apps.cluster.models import Cluster
from apps.engine.ledger.reading import read
from apps.engine.models import QueueMove, SchedulingDecision
from apps.scheduler.objects import Pod
from apps.scheduler.queue.records import SavedEntry, SubQueue
from apps.scheduler.scheduler import Scheduler


def fill_queue(
    scheduler: Scheduler,
    cluster: Cluster,
    pending: Mapping[str, Pod],
    row: SchedulingDecision,
    created: Mapping[str, float],
) -> None:
    """Fill an empty queue with the pending pods as they waited when `row` was decided.

    `created` has when each was created, in seconds since the epoch.
    """
    ours = {
        uid: pod
        for uid, pod in pending.items()
        if pod.spec.scheduler_name in scheduler.profiles and pod.metadata.deletion_timestamp is None
    }
    places = _read_places(cluster, ours, row)
    entries = []
    for uid, last in _read_last(cluster, ours, row).items():
        place = SubQueue.ACTIVE if uid == str(row.pod_uid) else places.get(uid, SubQueue.ACTIVE)
        entries.append(_entry(ours[uid], last, place, created[uid]))
    scheduler.queue.restore(entries, ours.get, 0, 0)
    known = {entry.pod_uid for entry in entries}
    for uid, pod in ours.items():
        if uid not in known:
            scheduler.handle("Pod", None, pod, created[uid])


def _read_places(
    cluster: Cluster, pods: Mapping[str, Pod], row: SchedulingDecision
) -> dict[str, SubQueue]:
    moves = QueueMove.objects.filter(cluster=cluster, pod_uid__in=list(pods), at__lte=row.at)
    targets = moves.order_by("pod_uid", "-id").distinct("pod_uid").values_list("pod_uid", "target")
    waiting = (SubQueue.BACKOFF, SubQueue.UNSCHEDULABLE, SubQueue.GATED)
    return {str(uid): SubQueue(target) for uid, target in targets if target in waiting}


def _read_last(
    cluster: Cluster, pods: Mapping[str, Pod], row: SchedulingDecision
) -> dict[str, SchedulingDecision]:
    """The last decision about each pod before `row`; uid -> decision."""
    rows = SchedulingDecision.objects.filter(
        cluster=cluster, pod_uid__in=list(pods), at__lte=row.at, id__lt=row.pk
    )
    last = rows.order_by("pod_uid", "-id").distinct("pod_uid")
    return {str(each.pod_uid): each for each in last}


def _entry(pod: Pod, last: SchedulingDecision, place: SubQueue, created: float) -> SavedEntry:
    decision, at = read(last).decision, last.at.timestamp()
    return SavedEntry(
        pod_key=pod.key,
        pod_uid=pod.metadata.uid,
        queue=place,
        timestamp=at,
        initial_attempt_timestamp=created,
        attempts=last.attempt,
        unschedulable_count=last.attempt,
        unschedulable_plugins=tuple(sorted(decision.unschedulable_plugins)),
        pending_plugins=tuple(sorted(decision.pending_plugins)),
        nominated_node=pod.status.nominated_node_name,
    )
