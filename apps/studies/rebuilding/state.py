"""Rebuilds the state that a decision saw: a scheduler filled from the change log and the ledger.

A decision records the version up to which its engine had read the change log, and its sequence
number among the decisions based on that version. The state consists of

1. the objects at that version;
2. the pods that were assumed or being bound at that time, which the decision's row lists;
3. the effects of the earlier decisions based on the same version: pods assumed on their nodes,
   volumes reserved, nominations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from apps.cluster.log.changelog import changes_after
from apps.cluster.models import Cluster, HistoricChange
from apps.engine.ledger.reading import read
from apps.engine.loop.extender_objects import StoredBodies
from apps.engine.loop.informer import WATCHED, decode
from apps.engine.models import ConfigurationRevision, SchedulingDecision
from apps.engine.profiles import revisions
from apps.engine.profiles.schedulers import assemble_scheduler
from apps.scheduler.cache.cache import is_terminal
from apps.scheduler.clock import VirtualClock
from apps.scheduler.config import Configuration
from apps.scheduler.decision import Result
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod
from apps.scheduler.scheduler import Scheduler
from apps.studies.rebuilding.allocating import collections_paused
from apps.studies.rebuilding.arrivals import (
    AT_LOAD,
    Arrival,
    decided,
    read_arrivals,
    sort_by_arrival,
)
from apps.studies.rebuilding.draws import RecordedDraws
from apps.studies.rebuilding.earlier import apply_earlier, assume_pod
from apps.studies.rebuilding.following import apply_change, nominate
from apps.studies.rebuilding.known_nodes import fill_nodes
from apps.studies.rebuilding.past_objects import PastObject, read_objects_at

_BATCH = 2000


@dataclass(slots=True)
class PastState:
    """A cluster as its scheduler knew it at a version, with the decisions applied since then.

    The scheduler's queue is empty: pods are scheduled with `decide_again`.
    """

    cluster: Cluster
    version: int
    scheduler: Scheduler
    draws: RecordedDraws
    #: uid -> pod without a node, of any scheduler
    pending: dict[str, Pod] = field(default_factory=dict)
    #: number of decisions of this version that are applied
    sequence: int = 0
    #: the revision of the configuration, and the version at which the engine was loaded
    revision: int = 0
    loaded_at: int = 0
    #: whether pods are on their nodes in the order of their arrival
    in_order: bool = False
    #: whether members of a group are on nodes that only the trial of the group gave them
    is_of_trial: bool = False
    #: the arrivals of pods, by uid, if the pods are in order
    arrivals: dict[str, Arrival] = field(default_factory=dict)

    def can_advance_to(self, row: SchedulingDecision) -> bool:
        """Whether `advance` can turn this state into the one that `row` saw."""
        return (
            (self.cluster.pk, self.version) == (row.cluster_id, row.cluster_version)
            and self.sequence <= row.sequence
            and self.revision == row.profile_revision
            and self.loaded_at == read(row).seen.loaded_at
            and (self.in_order or not _needs_order(row))
            and not self.is_of_trial
        )

    def advance(self, row: SchedulingDecision) -> None:
        """Apply the decisions of this version before `row`."""
        assert row.cluster_version == self.version and row.sequence >= self.sequence
        seen = read(row).seen
        for uid in seen.released:
            if uid in self.pending:
                self.scheduler.queue.delete_nominated_pod(PodInfo(self.pending[uid]))
        for uid, node, version, sequence, claims in seen.expected:
            if uid in self.pending and self.scheduler.cache.find_pod(uid) is None:
                pod = _read_pod_at(self.cluster, self.pending[uid], version)
                assume_pod(self.scheduler, pod, node, claims)
                self.arrivals[uid] = decided(version, sequence)
        before = _read_earlier(row, self.sequence)
        failed = {str(each.pod_uid) for each in before if each.result in _FAILED}
        self.is_of_trial = any(expected.uid in failed for expected in seen.expected)
        for earlier in before:
            apply_earlier(self.scheduler, self.pending, earlier)
            self.arrivals[str(earlier.pod_uid)] = decided(self.version, earlier.sequence)
        if self.in_order:
            for node in {expected.node for expected in seen.expected}:
                self._reorder_pods(node)
        self.sequence = row.sequence

    def _reorder_pods(self, node: str) -> None:
        """List the node's pods by arrival: assumed pods arrived before those bound since then."""
        info = self.scheduler.cache.nodes.get(node)
        if info is not None:
            arrived = sorted(
                info.pods.values(), key=lambda pod: self.arrivals.get(pod.uid, AT_LOAD)
            )
            info.reorder_pods(pod.key for pod in arrived)

    def follow(self, version: int) -> None:
        """Advance to a later version. Use it for the present state, not for that of a decision."""
        while self.version < version:
            changes = changes_after(self.cluster.pk, self.version, limit=_BATCH)
            for change in changes:
                if change.version <= version:
                    apply_change(self.scheduler, self.pending, change)
            self.version = min(changes[-1].version, version) if changes else version

    def pod(self, uid: str) -> PodInfo | None:
        """The pending pod with this uid; None if there was none."""
        pod = self.pending.get(uid)
        return PodInfo(pod) if pod is not None else None


def rebuild_state_before(
    row: SchedulingDecision, configuration: Configuration | None = None
) -> PastState:
    """Rebuild the state that a decision saw; its scheduler may have another configuration.

    Raises apps.cluster.errors.Expired when the change log no longer reaches back to it, and
    Cluster.DoesNotExist when the cluster has been deleted.
    """
    cluster = Cluster.objects.get(pk=row.cluster_id)
    record = read(row)
    state = rebuild_state_at(
        cluster,
        row.cluster_version,
        revision=row.profile_revision,
        loaded_at=record.seen.loaded_at,
        rows=record.decision.nodes,
        in_order=_needs_order(row),
        at=row.at.timestamp(),
        configuration=configuration,
    )
    state.advance(row)
    return state


def rebuild_state_at(
    cluster: Cluster,
    version: int,
    *,
    revision: int | None = None,
    loaded_at: int | None = None,
    rows: Sequence[str] = (),
    in_order: bool = False,
    at: float | None = None,
    configuration: Configuration | None = None,
) -> PastState:
    """Rebuild the state of a scheduler that has read the change log up to `version`.

    `revision` is the number of its configuration revision, by default the active one; `loaded_at`
    the version at which it was loaded, by default `version`; `rows` the node names by row; `at` the
    time, by default now. With `in_order`, pods are added to their nodes in the order of their
    arrival, which preemption needs. The scheduler has `configuration` instead of the revision's,
    if it is given.
    """
    chosen_revision = (
        revisions.get_active(cluster)
        if revision is None
        else ConfigurationRevision.objects.get(cluster=cluster, revision=revision)
    )
    draws = RecordedDraws()
    scheduler = assemble_scheduler(
        configuration or revisions.load_configuration(chosen_revision),
        clock=VirtualClock(cluster.now().timestamp() if at is None else at),
        tie_break=cluster.tie_break,
        bodies=StoredBodies(cluster.pk),
        draws=draws,
    )
    loaded_at = version if loaded_at is None else loaded_at
    state = PastState(
        cluster,
        version,
        scheduler,
        draws,
        revision=chosen_revision.revision,
        loaded_at=loaded_at,
        in_order=in_order,
    )
    others = [kind for kind in WATCHED if kind.name != "Node"]
    with collections_paused():
        fill_nodes(scheduler.cache, cluster, loaded_at=loaded_at, version=version, rows=rows)
        _fill_objects(
            state, read_objects_at(cluster, version, others), loaded_at if in_order else None
        )
    return state


def _fill_objects(state: PastState, objects: Iterable[PastObject], loaded_at: int | None) -> None:
    """Add objects and pods; without `loaded_at`, pods are added in any order."""
    cache = state.scheduler.cache
    assigned: list[PastObject] = []
    for each in objects:
        if not isinstance(each.item, Pod):
            if (lister := cache.listers.by_kind.get(each.kind)) is not None:
                lister.put(each.item)
        elif is_terminal(each.item):
            continue
        elif each.item.spec.node_name:
            assigned.append(each)
        else:
            state.pending[each.item.metadata.uid] = each.item
    if loaded_at is not None:
        state.arrivals = read_arrivals(
            state.cluster, assigned, loaded_at=loaded_at, version=state.version
        )
        assigned = sort_by_arrival(state.cluster, assigned, state.arrivals)
    for each in assigned:
        assert isinstance(each.item, Pod)
        cache.add_pod(PodInfo(each.item))
    for pod in state.pending.values():
        nominate(state.scheduler, pod)


_FAILED: Final = (Result.UNSCHEDULABLE, Result.ERROR)


def _read_pod_at(cluster: Cluster, pod: Pod, version: int) -> Pod:
    """The pod at a version; the given pod when the log does not reach back that far."""
    change = (
        HistoricChange.objects.filter(cluster=cluster, uid=pod.metadata.uid, version__lte=version)
        .order_by("-version")
        .first()
    )
    decoded = decode("Pod", change.object) if change is not None else None
    return decoded if isinstance(decoded, Pod) else pod


def _read_earlier(row: SchedulingDecision, since: int) -> list[SchedulingDecision]:
    """The decisions based on the same version, from sequence number `since` up to `row`, in order.

    Among rows that were recorded together, ids increase with the sequence number.
    """
    rows = SchedulingDecision.objects.filter(
        cluster_id=row.cluster_id,
        cluster_version=row.cluster_version,
        sequence__gte=since,
        sequence__lt=row.sequence,
        id__lt=row.pk,
    ).order_by("-id")[: row.sequence - since]
    return sorted(rows, key=lambda each: each.sequence)


def _needs_order(row: SchedulingDecision) -> bool:
    """Whether the order of pods on their nodes matters: preemption compares it."""
    return row.result == Result.UNSCHEDULABLE
