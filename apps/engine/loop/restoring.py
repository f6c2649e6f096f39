"""Restores the queue of a loop that ended, or was killed, from its last record.

A pod's entry contains everything that the queue knew about it. A pod that waited for its first
attempt has no entry: its state follows from the pod itself. Changes after the record are applied to
the new queue one by one, as they would have been to the old one, so no event is lost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import msgspec
from django.db.models import Max

from apps.cluster.models import Change, Cluster, Pod
from apps.engine.loop.informer import PendingPod
from apps.engine.models import ConfigurationRevision, LoopLease, QueueEntry, SchedulingDecision
from apps.engine.profiles import revisions
from apps.scheduler import objects
from apps.scheduler.framework import events
from apps.scheduler.plugins import default_preemption
from apps.scheduler.queue.records import SavedEntry, arrival
from apps.scheduler.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class SavedQueue:
    """The recorded state of a cluster's queue."""

    cluster_id: int
    #: by the pod's uid
    entries: Mapping[str, SavedEntry]
    #: The version up to which the queue had received all changes.
    version: int
    #: The configuration revision that the queue used.
    profile_revision: int
    #: The queue's scheduling cycle and move request cycle.
    cycles: tuple[int, int]


def load_saved_queue(cluster: Cluster) -> SavedQueue:
    """The recorded queue; only the holder of the lease may call this, as no one else writes it."""
    rows = QueueEntry.objects.filter(cluster=cluster).values_list("pod_uid", "state")
    entries = {str(uid): msgspec.convert(state, SavedEntry) for uid, state in rows}
    lease = LoopLease.objects.get(cluster=cluster)
    cycles = lease.scheduling_cycle, lease.move_request_cycle
    return SavedQueue(cluster.pk, entries, lease.consumed_version, lease.profile_revision, cycles)


def restore_queue(
    saved: SavedQueue,
    pending: Mapping[str, PendingPod],
    *,
    scheduler: Scheduler,
    loaded_at: int,
    profile_revision: int,
) -> None:
    """Fill the scheduler's empty queue with the pods of `pending`.

    If the active revision is not the one that the queue used, every rejected pod is activated, and
    pods for which only a profile of the active one is responsible are handled as new.
    """
    reconfigured = saved.profile_revision != profile_revision
    known = _find_known(saved, pending, scheduler, reconfigured=reconfigured)
    arrivals = list(_find_arrivals(saved, pending, known, loaded_at))
    queue = scheduler.queue
    # before PreEnqueue runs, which asks for the members of a gang
    for uid, each in pending.items():
        if uid in saved.entries or uid in known:
            scheduler.cache.pod_groups.add_pending(each.pod)
    queue.restore(
        [*saved.entries.values(), *arrivals],
        lambda uid: pending[uid].pod if uid in pending else None,
        *saved.cycles,
        kept_gates=() if reconfigured else _find_kept_gates(saved, scheduler, loaded_at),
        has_other_plugins=reconfigured,
    )
    _nominate_expected_pods(scheduler)
    if reconfigured:
        rejected = [info.pod for info in queue.contents.unschedulable_pods()]
        queue.activate(rejected, events.CONFIGURATION_CHANGE)
    elif saved.entries and loaded_at != saved.version:
        # the changes in between are no longer known, and may have made any pod schedulable
        queue.move_all_to_active_or_backoff_queue(events.EVENT_EVENTS_FORGOTTEN)
    unknown = [e for uid, e in pending.items() if uid not in saved.entries and uid not in known]
    for each in unknown:
        scheduler.handle("Pod", None, each.pod, each.created_at)
    if reconfigured:
        _continue_counting(saved.cluster_id, scheduler, [each.pod for each in unknown])


def _find_kept_gates(saved: SavedQueue, scheduler: Scheduler, loaded_at: int) -> Collection[str]:
    """DefaultPreemption, if it gates a pod and a pod is being evicted.

    The plugin no longer knows for whom it evicts; the deletion of the victim opens the gate.
    """
    gate = default_preemption.NAME
    if all(entry.gating_plugin != gate for entry in saved.entries.values()):
        return ()
    later = Change.objects.filter(
        cluster=saved.cluster_id,
        kind="Pod",
        version__gt=loaded_at,
        object__metadata__deletionTimestamp__isnull=False,
    )
    bound = scheduler.context.cache.pods.values()
    is_evicting = any(each.pod.is_terminating for each in bound) or later.exists()
    return (gate,) if is_evicting else ()


def _continue_counting(cluster_id: int, scheduler: Scheduler, pods: Sequence[objects.Pod]) -> None:
    """Continue the numbers of attempts of pods that an earlier revision had profiles for."""
    decisions = SchedulingDecision.objects.filter(
        cluster=cluster_id, pod_uid__in=[pod.metadata.uid for pod in pods]
    )
    last = dict(decisions.values_list("pod_uid").annotate(Max("attempt")).order_by())
    for pod in pods:
        info = scheduler.queue.contents.get(pod.key)
        if info is not None:
            info.attempts = last.get(UUID(pod.metadata.uid), 0)


def _find_known(
    saved: SavedQueue,
    pending: Mapping[str, PendingPod],
    scheduler: Scheduler,
    *,
    reconfigured: bool,
) -> set[str]:
    """The uids of the pods that the recorded queue knew, and for which there still is a profile."""
    names = set(scheduler.profiles)
    if reconfigured:
        names &= _names_of(saved)
    return {
        uid
        for uid, each in pending.items()
        if each.pod.spec.scheduler_name in names and each.created_by <= saved.version
    }


def _names_of(saved: SavedQueue) -> set[str]:
    """The names of the scheduler profiles of the revision that the queue used."""
    revision = ConfigurationRevision.objects.filter(
        cluster=saved.cluster_id, revision=saved.profile_revision
    ).first()
    if revision is None:
        return set()
    configuration = revisions.load_configuration(revision)
    return {profile.scheduler_name for profile in configuration.profiles}


def _find_arrivals(
    saved: SavedQueue, pending: Mapping[str, PendingPod], known: Collection[str], loaded_at: int
) -> Iterator[SavedEntry]:
    """The pods in the recorded queue that waited for their first attempt."""
    without_entry = {
        uid: pending[uid] for uid in pending if uid in known and uid not in saved.entries
    }
    # when objects are loaded as of the record, leave out the pods that the record itself bound
    is_record = loaded_at == saved.version
    bound = _find_bound(saved.cluster_id, without_entry) if is_record else set()
    for uid, each in without_entry.items():
        # a terminating pod has been dropped when it was popped
        if uid not in bound and each.pod.metadata.deletion_timestamp is None:
            yield arrival(each.pod.key, uid, each.created_at)


def _find_bound(cluster_id: int, uids: Collection[str]) -> set[str]:
    """The uids of those pods that the loop has bound."""
    unbound = Pod.objects.filter(cluster=cluster_id, uid__in=uids, node_name="")
    waiting = {str(uid) for uid in unbound.values_list("uid", flat=True)}
    decisions = SchedulingDecision.objects.filter(
        cluster=cluster_id,
        pod_uid__in=set(uids) - waiting,
        result=SchedulingDecision.Result.SCHEDULED,
    )
    return {str(uid) for uid in decisions.values_list("pod_uid", flat=True)}


def _nominate_expected_pods(scheduler: Scheduler) -> None:
    """Nominate pods that waited for Permit or were being bound to the node in their status."""
    queue = scheduler.queue
    for info in queue.contents.active_pods():
        if info.pod.status.nominated_node_name and queue.nominator.get(info.uid) is None:
            queue.add_nominated_pod(info.pod_info)
