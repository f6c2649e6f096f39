"""The state that a decision saw: a scheduler filled from the change log and the ledger.

A decision names the version up to which its engine had read the change log, and its number among
the decisions made after that version. So it saw the objects at that version; on top of them the
pods that had a node without being known as bound, which its row lists; and what the decisions
before it of the same version had done: their pods on their nodes, their volumes assumed, their
nominations.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from apps.cluster.log.changelog import changes_after
from apps.cluster.models import Change, Cluster
from apps.controlplane.ledger.reading import read
from apps.controlplane.loop.extender_objects import StoredBodies
from apps.controlplane.loop.informer import WATCHED, decode
from apps.controlplane.models import ConfigurationRevision, SchedulingDecision
from apps.controlplane.profiles import plugins, revisions
from apps.controlplane.rebuilding.arrivals import arrival_order
from apps.controlplane.rebuilding.draws import RecordedDraws
from apps.controlplane.rebuilding.earlier import apply_earlier, take_room
from apps.controlplane.rebuilding.following import nominate, take_in
from apps.controlplane.rebuilding.nodes import put_nodes
from apps.controlplane.rebuilding.objects import PastObject, objects_at
from apps.scheduler.cache.cache import is_terminal
from apps.scheduler.decision import Result
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.tie_break import TieBreak

_BATCH = 2000


class StoppedClock:
    """The moment of a decision."""

    def __init__(self, at: float) -> None:
        self.at = at

    def now(self) -> float:
        return self.at


@dataclass(slots=True)
class PastState:
    """A cluster as its scheduler knew it at a version, and the decisions made since then.

    The scheduler's queue is empty: pods are tried with `decide_again`.
    """

    cluster: Cluster
    version: int
    scheduler: Scheduler
    draws: RecordedDraws
    #: uid -> pod without a node, of whatever scheduler
    pending: dict[str, Pod] = field(default_factory=dict)
    #: how many decisions of this version are applied
    sequence: int = 0
    #: the profile revision, and the version at which the engine took in everything there was
    revision: int = 0
    loaded_at: int = 0
    #: pods came to their nodes in the order of time
    in_order: bool = False

    def leads_to(self, row: SchedulingDecision) -> bool:
        """Whether `advance` can bring this state to what `row` saw."""
        return (
            (self.cluster.pk, self.version) == (row.cluster_id, row.cluster_version)
            and self.sequence <= row.sequence
            and self.revision == row.profile_revision
            and self.loaded_at == read(row).seen.loaded_at
            and (self.in_order or not _needs_order(row))
        )

    def advance(self, row: SchedulingDecision) -> None:
        """Apply the decisions of this version that came before `row`."""
        assert row.cluster_version == self.version and row.sequence >= self.sequence
        seen = read(row).seen
        for uid in seen.released:
            if uid in self.pending:
                self.scheduler.queue.delete_nominated_pod(PodInfo(self.pending[uid]))
        for uid, node, version in seen.expected:
            if uid in self.pending and self.scheduler.cache.find_pod(uid) is None:
                pod = _as_of(self.cluster, self.pending[uid], version)
                take_room(self.scheduler, pod, node)
        for earlier in _decisions_before(row, self.sequence):
            apply_earlier(self.scheduler, self.pending, earlier)
        self.sequence = row.sequence

    def follow(self, version: int) -> None:
        """Go on to a later version: for looking at the present, not at what a decision saw."""
        while self.version < version:
            changes = changes_after(self.cluster.pk, self.version, limit=_BATCH)
            for change in changes:
                if change.version <= version:
                    take_in(self.scheduler, self.pending, change)
            self.version = min(changes[-1].version, version) if changes else version

    def pod(self, uid: str) -> PodInfo | None:
        """A pending pod as it was; None if there was none."""
        found = self.pending.get(uid)
        return PodInfo(found) if found is not None else None


def state_before(row: SchedulingDecision) -> PastState:
    """The state that a decision saw.

    Raises apps.cluster.errors.Expired when the change log does not reach back to it any more, and
    Cluster.DoesNotExist when only the ledger is left of the cluster.
    """
    cluster = Cluster.objects.get(pk=row.cluster_id)
    record = read(row)
    state = state_at(
        cluster,
        row.cluster_version,
        revision=row.profile_revision,
        loaded_at=record.seen.loaded_at,
        rows=record.decision.nodes,
        in_order=_needs_order(row),
        at=row.at.timestamp(),
    )
    state.advance(row)
    return state


def state_at(
    cluster: Cluster,
    version: int,
    *,
    revision: int | None = None,
    loaded_at: int | None = None,
    rows: Sequence[str] = (),
    in_order: bool = False,
    at: float | None = None,
) -> PastState:
    """What a scheduler knows that has read the change log up to `version`.

    `revision` is its profile, by default the active one; `loaded_at` the version at which it took
    in everything there was, by default this one; `rows` the order of its nodes' rows. Pods come to
    their nodes in the order of time only if they shall (`in_order`), which preemption needs.
    """
    profile = (
        revisions.active(cluster)
        if revision is None
        else ConfigurationRevision.objects.get(cluster=cluster, revision=revision)
    )
    draws = RecordedDraws()
    scheduler = Scheduler(
        revisions.configuration(profile),
        clock=StoppedClock(cluster.now().timestamp() if at is None else at),
        tie_break=_tie_break(cluster),
        registry=plugins.registry(),
        bodies=StoredBodies(cluster.pk),
        draws=draws,
    )
    loaded_at = version if loaded_at is None else loaded_at
    state = PastState(
        cluster,
        version,
        scheduler,
        draws,
        revision=profile.revision,
        loaded_at=loaded_at,
        in_order=in_order,
    )
    others = [kind for kind in WATCHED if kind.name != "Node"]
    with _uncollected():
        put_nodes(scheduler.cache, cluster, loaded_at=loaded_at, version=version, rows=rows)
        _put_objects(state, objects_at(cluster, version, others), loaded_at if in_order else None)
    return state


@contextmanager
def _uncollected() -> Iterator[None]:
    """All that is made here is kept: to search it for garbage meanwhile can double the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _put_objects(state: PastState, objects: Iterable[PastObject], loaded_at: int | None) -> None:
    """`loaded_at` None: the order of pods does not matter."""
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
        assigned = arrival_order(
            state.cluster, assigned, loaded_at=loaded_at, version=state.version
        )
    for each in assigned:
        assert isinstance(each.item, Pod)
        cache.add_pod(PodInfo(each.item))
    for pod in state.pending.values():
        nominate(state.scheduler, pod)


def _as_of(cluster: Cluster, pod: Pod, version: int) -> Pod:
    """The pod as it was at a version; as it is where the log does not know."""
    change = (
        Change.objects.filter(cluster=cluster, uid=pod.metadata.uid, version__lte=version)
        .order_by("-version")
        .first()
    )
    found = decode("Pod", change.object) if change is not None else None
    return found if isinstance(found, Pod) else pod


def _decisions_before(row: SchedulingDecision, since: int) -> list[SchedulingDecision]:
    """The decisions after the same version from number `since` on, in order.

    Of what was recorded together the ids rise with the sequence.
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
    """Preemption asks which of equally important pods came first."""
    return row.result == Result.UNSCHEDULABLE


def _tie_break(cluster: Cluster) -> TieBreak:
    return "first-name" if cluster.tie_break == Cluster.TieBreak.FIRST_NAME else "random"
