"""Why a group of pods is pending: which members exist, which fit where, and which do not.

kube-scheduler shows nothing for members that wait for the others; this reads the queue and the
ledger instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import QuerySet

from apps.cluster import kinds
from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster, Pod
from apps.controlplane.explanations.pods import ENDED, scheduler_message
from apps.controlplane.ledger.reading import read
from apps.controlplane.models import QueueEntry, SchedulingDecision
from apps.scheduler.objects import PodGroup, decode

_KIND = kinds.by_name("PodGroup")


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


@dataclass(frozen=True, slots=True)
class GroupExplanation:
    """One PodGroup and its pods, by name."""

    namespace: str
    name: str
    #: "gang" or "basic"; "" if the object does not exist
    policy: str
    #: how many pods a gang needs; 0 for other groups
    min_count: int
    #: one or two sentences
    summary: str
    members: Sequence[Member]

    def count(self, *standings: Standing) -> int:
        """The number of members with one of these standings."""
        return sum(member.standing in standings for member in self.members)


def explain_pod_group(cluster: Cluster, namespace: str, name: str) -> GroupExplanation:
    """The group and its members; NotFound if there is neither a PodGroup nor a pod of it."""
    pods = list(pods_of_group(cluster, namespace, name).order_by("name"))
    stored = _KIND.objects(cluster).filter(namespace=namespace, name=name).first()
    if stored is None and not pods:
        raise NotFound(_KIND.plural, name, _KIND.group)
    group: PodGroup | None = decode("PodGroup", stored.body) if stored is not None else None
    members = _describe_members(cluster, pods)
    policy = "" if group is None else "gang" if group.min_count else "basic"
    min_count = group.min_count if group is not None else 0
    summary = _summarize(name, policy, min_count, members)
    return GroupExplanation(namespace, name, policy, min_count, summary, members)


def pods_of_group(cluster: Cluster, namespace: str, name: str) -> QuerySet[Pod]:
    """The pods that name the group."""
    return Pod.objects.filter(
        cluster=cluster, namespace=namespace, body__spec__schedulingGroup__podGroupName=name
    )


def _describe_members(cluster: Cluster, pods: Sequence[Pod]) -> list[Member]:
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
    return [_describe(pod, entries.get(pod.uid), last.get(pod.uid)) for pod in pods]


def _describe(pod: Pod, entry: QueueEntry | None, last: SchedulingDecision | None) -> Member:
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
    node = read(last).decision.node
    standing = Standing.FITS if node else Standing.FAILS
    return Member(*where, standing, node, scheduler_message(last), number)


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
