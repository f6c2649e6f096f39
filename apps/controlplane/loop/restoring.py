"""The queue of a loop that ended, or was killed, as it was last recorded.

An entry of a pod holds all that the queue knew of it. A pod that waited for its first attempt has
none: everything about it follows from the pod itself. What happened after the record is told to
the new queue change by change, as it would have been to the old one; so no event is lost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from apps.cluster.models import Cluster, Pod
from apps.controlplane.loop.informer import PendingPod
from apps.controlplane.models import LoopLease, QueueEntry, SchedulingDecision
from apps.scheduler.framework import events
from apps.scheduler.queue.records import SavedEntry, arrival
from apps.scheduler.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class Kept:
    """What is recorded of a cluster's queue."""

    cluster_id: int
    #: by the pod's uid
    entries: Mapping[str, SavedEntry]
    #: The queue knew of everything up to here ...
    version: int
    #: ... and went by this revision of the profile.
    profile_revision: int


def what_is_kept(cluster: Cluster) -> Kept:
    """To be asked by the holder of the lease: nobody else writes it then."""
    rows = QueueEntry.objects.filter(cluster=cluster).values_list("pod_uid", "state")
    entries = {str(uid): msgspec.convert(state, SavedEntry) for uid, state in rows}
    lease = LoopLease.objects.get(cluster=cluster)
    return Kept(cluster.pk, entries, lease.consumed_version, lease.profile_revision)


def restore_queue(
    kept: Kept,
    pending: Mapping[str, PendingPod],
    *,
    scheduler: Scheduler,
    loaded_at: int,
    profile_revision: int,
) -> None:
    """Fill the scheduler's empty queue with the pods of `pending`, which it does not know yet.

    Under another profile than the queue went by, every pod that was refused gets a new try, and
    one that was not tried yet is announced again: only now it may be somebody's business.
    """
    reconfigured = kept.profile_revision != profile_revision
    arrivals = [] if reconfigured else list(_arrivals(kept, pending, scheduler, loaded_at))
    queue = scheduler.queue
    queue.restore(
        [*kept.entries.values(), *arrivals],
        lambda uid: pending[uid].pod if uid in pending else None,
    )
    _nominate_those_expected(scheduler)
    if reconfigured:
        refused = [info.pod for info in queue.unschedulable_pods()]
        queue.activate(refused, events.CONFIGURATION_CHANGE)
    elif kept.entries and loaded_at != kept.version:
        # what happened in between is not known any more, and may have helped anybody
        queue.move_all_to_active_or_backoff_queue(events.EVENT_EVENTS_FORGOTTEN)
    for pod in _unknown(kept, pending, scheduler, loaded_at, reconfigured):
        scheduler.handle("Pod", None, pod.pod, pod.created_at)


def _arrivals(
    kept: Kept, pending: Mapping[str, PendingPod], scheduler: Scheduler, loaded_at: int
) -> Iterator[SavedEntry]:
    """The pods that the queue had taken in and that waited for their first attempt."""
    known = {
        uid: each
        for uid, each in pending.items()
        if uid not in kept.entries and _was_known(each, kept, scheduler)
    }
    # of an earlier state, those are left out that the loop bound with its last record
    bound = _bound_since(kept.cluster_id, known) if loaded_at == kept.version else set()
    for uid, each in known.items():
        # a pod that is being deleted has been dropped when it was popped
        if uid not in bound and each.pod.metadata.deletion_timestamp is None:
            yield arrival(each.pod.key, uid, each.created_at)


def _unknown(
    kept: Kept,
    pending: Mapping[str, PendingPod],
    scheduler: Scheduler,
    loaded_at: int,
    reconfigured: bool,
) -> Iterator[PendingPod]:
    """The pods that the queue had not taken in."""
    for uid, each in pending.items():
        if uid not in kept.entries and (reconfigured or not _was_known(each, kept, scheduler)):
            yield each


def _was_known(each: PendingPod, kept: Kept, scheduler: Scheduler) -> bool:
    is_ours = each.pod.spec.scheduler_name in scheduler.profiles
    return is_ours and each.created_by <= kept.version


def _bound_since(cluster_id: int, uids: Collection[str]) -> set[str]:
    """Those of the pods which the loop has bound."""
    unbound = Pod.objects.filter(cluster=cluster_id, uid__in=uids, node_name="")
    waiting = {str(uid) for uid in unbound.values_list("uid", flat=True)}
    decisions = SchedulingDecision.objects.filter(
        cluster=cluster_id,
        pod_uid__in=set(uids) - waiting,
        result=SchedulingDecision.Result.SCHEDULED,
    )
    return {str(uid) for uid in decisions.values_list("pod_uid", flat=True)}


def _nominate_those_expected(scheduler: Scheduler) -> None:
    """A pod that was held, or being bound, is tried first on the node that its status names."""
    queue = scheduler.queue
    for info in queue.active_pods():
        if info.pod.status.nominated_node_name and queue.nominator.get(info.uid) is None:
            queue.add_nominated_pod(info.pod_info)
