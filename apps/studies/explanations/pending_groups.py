"""Why a group of pods is pending: which members exist, which fit where, and which do not.

kube-scheduler shows nothing for members that wait for the others; this reads the queue and the
ledger instead. Each attempt with the group is a row of the ledger, and can be explained as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from django.db.models import QuerySet

from apps.cluster import kinds
from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster, Pod
from apps.engine.ledger.reading import read
from apps.engine.models import GroupAttempt, QueueEntry, SchedulingDecision
from apps.engine.results.refusals import RefusalGroup, group_refusals
from apps.scheduler.objects import PodGroup, decode
from apps.studies.explanations.pending_pods import ENDED, scheduler_message

_KIND = kinds.by_name("PodGroup")
#: how many past attempts are listed
MOST_ATTEMPTS: Final = 50


class Standing(StrEnum):
    """How far a member has come."""

    BOUND = "bound"
    #: it had a node in the last attempt with the group, but the group did not fit
    FITS = "fits"
    #: the last attempt found no node for it
    FAILS = "fails"
    #: PreEnqueue keeps it out of the queue
    HELD = "held"
    #: it was not tried yet
    WAITS = "waits"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Member:
    """A pod of the group, as it is now."""

    namespace: str
    name: str
    uid: str
    standing: Standing
    #: the node on which it is bound, or would fit; "" without one
    node: str = ""
    #: why it is not bound
    reason: str = ""
    #: the last attempt; None before the first
    decision: int | None = None
    #: how many nodes the attempt found feasible, of how many; 0 without a decision
    feasible_nodes: int = 0
    nodes: int = 0
    #: why the others were refused: most nodes first
    refusals: Sequence[RefusalGroup] = ()
    #: members with a node that were tried before it: it saw them on their nodes
    after: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class GroupExplanation:
    """One PodGroup and its pods: as they are now, or as they were in one attempt."""

    namespace: str
    name: str
    #: "gang" or "basic"; "" if the object does not exist
    policy: str
    #: how many pods a gang needs; 0 for other groups
    min_count: int
    #: one or two sentences
    summary: str
    #: by name; those of an attempt in the order in which they were tried
    members: Sequence[Member]
    #: the last attempts with the group, newest first
    attempts: Sequence[GroupAttempt] = ()
    #: the attempt that is explained; None for the group as it is now
    attempt: GroupAttempt | None = None

    @property
    def shown(self) -> GroupAttempt | None:
        """The attempt that is explained, or the last one."""
        return self.attempt or next(iter(self.attempts), None)

    @property
    def placements(self) -> Sequence[Mapping[str, Any]]:
        """The topology domains in which that attempt tried the group, by name."""
        return self.shown.placements if self.shown is not None else ()

    @property
    def victims(self) -> Sequence[Mapping[str, Any]]:
        """The pods that it evicted for the whole group, the most important first."""
        return self.shown.victims if self.shown is not None else ()

    @property
    def placed(self) -> int:
        """How many members have a node, bound or in the last attempt."""
        return sum(each.standing in (Standing.BOUND, Standing.FITS) for each in self.members)


def explain_pod_group(
    cluster: Cluster, namespace: str, name: str, *, attempt: int | None = None
) -> GroupExplanation:
    """The group and its members, now or in the attempt with this id.

    NotFound if there is neither a PodGroup nor a pod of it, or no such attempt.
    """
    attempts = GroupAttempt.objects.filter(cluster=cluster, namespace=namespace, name=name)
    if attempt is not None:
        row = attempts.filter(pk=attempt).first()
        if row is None:
            raise NotFound("groupattempts", str(attempt))
        return _explain_attempt(row, attempts.order_by("-pk")[:MOST_ATTEMPTS])
    pods = list(pods_of_group(cluster, namespace, name).order_by("name"))
    stored = _KIND.objects(cluster).filter(namespace=namespace, name=name).first()
    if stored is None and not pods:
        raise NotFound(_KIND.plural, name, _KIND.group)
    group: PodGroup | None = decode("PodGroup", stored.body) if stored is not None else None
    latest = list(attempts.order_by("-pk")[:MOST_ATTEMPTS])
    members = _describe_members(cluster, pods, latest[0] if latest else None)
    policy = "" if group is None else "gang" if group.min_count else "basic"
    min_count = group.min_count if group is not None else 0
    summary = _summarize(name, policy, min_count, members)
    return GroupExplanation(namespace, name, policy, min_count, summary, members, latest)


def _explain_attempt(row: GroupAttempt, attempts: Iterable[GroupAttempt]) -> GroupExplanation:
    """The members as they were tried, each with its decision if the ledger still has it."""
    uids = [each["uid"] for each in row.members]
    recorded = SchedulingDecision.objects.filter(cluster=row.cluster_id, pod_uid__in=uids)
    decisions = {(str(each.pod_uid), each.attempt): each for each in recorded}
    members: list[Member] = []
    for each in row.members:
        after = [other.name for other in members if other.node]
        decision = decisions.get((each["uid"], each["attempt"]))
        members.append(_describe_trial(row, each, decision, after))
    policy = "gang" if row.min_count else "basic"
    return GroupExplanation(
        row.namespace,
        row.name,
        policy,
        row.min_count,
        _summarize_attempt(row, members),
        members,
        list(attempts),
        row,
    )


def _placed_before(attempt: GroupAttempt, last: SchedulingDecision) -> list[str]:
    """The members that had a node when this one was tried; none if that was another attempt."""
    names: list[str] = []
    for each in attempt.members:
        if (each["uid"], each["attempt"]) == (str(last.pod_uid), last.attempt):
            return names
        if each["node"]:
            names.append(each["name"])
    return []


def _describe_trial(
    row: GroupAttempt,
    trial: Mapping[str, Any],
    decision: SchedulingDecision | None,
    after: Sequence[str],
) -> Member:
    node, reason = trial["node"], trial["message"]
    standing = Standing.FITS if node else Standing.FAILS
    if decision is not None and decision.result == SchedulingDecision.Result.SCHEDULED:
        standing = Standing.BOUND
    elif node:
        reason = scheduler_message(decision) or row.message
    place = (row.namespace, trial["name"], trial["uid"])
    return _with_verdicts(Member(*place, standing, node, reason, after=after), decision)


def _with_verdicts(member: Member, row: SchedulingDecision | None) -> Member:
    """The member with what its decision says about the nodes."""
    if row is None:
        return member
    refusals = group_refusals(read(row).decision)
    return replace(
        member,
        decision=row.pk,
        feasible_nodes=row.feasible_nodes,
        nodes=row.nodes,
        refusals=refusals,
    )


def _summarize_attempt(row: GroupAttempt, members: Sequence[Member]) -> str:
    placed = sum(bool(each.node) for each in members)
    needed = f", and the gang needs {row.min_count}" if row.min_count else ""
    said = f"{placed} of {len(members)} pods had a node{needed}."
    failing = next((each for each in members if not each.node), None)
    chosen = next((each["name"] for each in row.placements if each["chosen"]), "")
    if chosen:
        said += f" The group was placed in {chosen}."
    elif row.placements:
        said = (
            f"The group fitted in none of {len(row.placements)} domains. In the first one, {said}"
        )
    if row.victims:
        evicted = "1 pod was" if len(row.victims) == 1 else f"{len(row.victims)} pods were"
        said += f" {evicted} evicted to make room for the group."
    if failing is not None:
        return f"{said} {failing.name} fitted nowhere: {failing.reason}"
    return said if row.result == SchedulingDecision.Result.SCHEDULED else f"{said} {row.message}"


def pods_of_group(cluster: Cluster, namespace: str, name: str) -> QuerySet[Pod]:
    """The pods that name the group."""
    return Pod.objects.filter(
        cluster=cluster, namespace=namespace, body__spec__schedulingGroup__podGroupName=name
    )


def _describe_members(
    cluster: Cluster, pods: Sequence[Pod], attempt: GroupAttempt | None
) -> list[Member]:
    """The pods as they are; ``attempt``: the last one with the group."""
    uids = [pod.uid for pod in pods]
    entries = {
        entry.pod_uid: entry
        for entry in QueueEntry.objects.filter(cluster=cluster, pod_uid__in=uids)
    }
    rows = (
        SchedulingDecision.objects.filter(cluster=cluster, pod_uid__in=uids)
        .order_by("pod_uid", "-pk")
        .distinct("pod_uid")
    )
    last = {row.pod_uid: row for row in rows}
    return [_describe(pod, entries.get(pod.uid), last.get(pod.uid), attempt) for pod in pods]


def _describe(
    pod: Pod,
    entry: QueueEntry | None,
    last: SchedulingDecision | None,
    attempt: GroupAttempt | None,
) -> Member:
    where = (pod.namespace, pod.name, str(pod.uid))
    number = last.pk if last is not None else None
    if pod.phase in ENDED:
        return Member(*where, Standing.ENDED, pod.node_name, decision=number)
    if pod.node_name:
        return Member(*where, Standing.BOUND, pod.node_name, decision=number)
    if entry is not None and entry.gated_by:
        return Member(
            *where, Standing.HELD, "", f"kept out of the queue by {entry.gated_by}", number
        )
    if last is None:
        return Member(*where, Standing.WAITS, "", "not tried yet", number)
    decision = read(last).decision
    standing = Standing.FITS if decision.node else Standing.FAILS
    after = _placed_before(attempt, last) if attempt is not None else ()
    member = Member(*where, standing, decision.node, scheduler_message(last), number, after=after)
    return _with_verdicts(member, last)


def _summarize(name: str, policy: str, min_count: int, members: Sequence[Member]) -> str:
    alive = [each for each in members if each.standing is not Standing.ENDED]
    bound = sum(each.standing is Standing.BOUND for each in alive)
    if not policy:
        return f"There is no PodGroup {name}: its pods are not tried until it is created."
    if alive and bound == len(alive):
        return f"All {bound} pods are bound." if bound > 1 else "The pod is bound."
    if len(alive) < min_count:
        return f"The gang needs {min_count} pods and has {len(alive)}: none of them is tried yet."
    fitting = bound + sum(each.standing is Standing.FITS for each in alive)
    failing = [each for each in alive if each.standing is Standing.FAILS]
    held = next((each for each in alive if each.standing is Standing.HELD), None)
    if not failing and fitting == bound and held is not None:
        return f"{bound} of {len(alive)} pods are bound. {held.name} is {held.reason}."
    if not failing and fitting == bound:
        return f"{bound} of {len(alive)} pods are bound; the others were not tried yet."
    if not failing:
        return f"{fitting} pods have a node, and wait for victims of preemption to terminate."
    first = failing[0]
    needed = f", and the gang needs {min_count}" if min_count else ""
    return (
        f"{fitting} of {len(alive)} pods have a node{needed}. "
        f"{first.name} fits nowhere: {first.reason}"
    )
