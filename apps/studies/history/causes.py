"""What led to a pod and to its end, and what followed: a chain from cause to effect.

Computed from the change log, the ledger and the operations, also for deleted objects. Every step
has its evidence: the change, the decision or the operation that it is read from. Two links are
inferred: a replacement is the next pod that the same owner created; a pod was created for a higher
number of replicas if none of its owner's pods had ended before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection

from apps.cluster.errors import NotFound
from apps.cluster.models import Change, Cluster, HistoricChange, Node
from apps.engine import queries
from apps.engine.models import Operation, SchedulingDecision

Body = Mapping[str, Any]

#: Changes of one object that are read at most.
_MOST_CHANGES: Final = 200
#: Pods that replaced each other, before and after the pod of a chain.
_MOST_PODS: Final = 4
#: Versions among which the end of a pod and its replacement are paired, on either side.
_PAIRED_WITHIN: Final = 2_000

_TAINTED: Final = "DeletionByTaintManager"
_PREEMPTED: Final = "PreemptionByScheduler"
_EVICTED: Final = "EvictionByEvictionAPI"
_KUBELET: Final = "TerminationByKubelet"
_COLLECTED: Final = "DeletionByPodGC"
#: What ended a pod, by the reason of its condition DisruptionTarget.
_ENDS: Final = {
    _TAINTED: "evicted by a taint of its node",
    _PREEMPTED: "preempted",
    _EVICTED: "evicted through the eviction API",
    _KUBELET: "evicted by its kubelet",
    _COLLECTED: "deleted with its node",
}
_READINESS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


#: What a change led to is searched in so many versions after it.
_SEARCHED: Final = 100_000
#: Pods that a change ended, that are listed at most; and owners whose new pods are looked for.
MOST_ENDED: Final = 100
_MOST_OWNERS: Final = 10


@dataclass(frozen=True, slots=True)
class PodReference:
    """A pod, which may be deleted."""

    uid: UUID
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Step:
    """One link of a chain; the steps before it led to it."""

    at: datetime
    #: what happened
    text: str
    #: what this is read from, or inferred from
    evidence: str
    #: who did it: a user, a controller
    user: str
    #: the change
    version: int | None = None
    #: the decision
    decision: int | None = None
    #: the operation
    operation: int | None = None
    #: the pod that it is about
    pod: PodReference | None = None
    #: the node that it is about
    node: str = ""


@dataclass(frozen=True, slots=True)
class EndedPod:
    """A pod that ended because of a change, and what runs in its place."""

    pod: PodReference
    #: when its end began, and the change
    at: datetime
    version: int
    #: what ended it
    text: str
    #: the pod created in its place; null if there is none, or its owner creates none
    replacement: PodReference | None
    #: the last successful decision about the replacement, and its node
    decision: int | None
    node: str


@dataclass(frozen=True, slots=True)
class Consequences:
    """The pods that a change of a node, or the request that made a change, has ended."""

    pods: Sequence[EndedPod]
    #: whether there are more pods
    truncated: bool


def read_chain(cluster: Cluster, uid: UUID) -> list[Step]:
    """What led to a pod, its decision, what ended it, and its replacements; in order.

    Empty for a pod whose changes are no longer in the log.
    """
    first = _History(cluster, uid)
    if not first.changes:
        return []
    lives = deque([first])
    while len(lives) < _MOST_PODS and (earlier := lives[0].find_replaced()):
        lives.appendleft(earlier)
    steps = list(lives[0].explain_creation()) if lives[0].is_whole else []
    for before, life in zip([None, *lives], lives, strict=False):
        steps += life.tell(replaced=before)
    following = first
    for _ in range(_MOST_PODS - 1):
        successor = following.find_replacement()
        if successor is None:
            break
        steps += successor.tell(replaced=following)
        following = successor
    return steps


class _History:
    """The changes of one pod."""

    def __init__(self, cluster: Cluster, uid: UUID) -> None:
        self.cluster = cluster
        self.uid = uid
        self.changes = list(
            HistoricChange.objects.filter(cluster=cluster, uid=uid).order_by("version")[
                :_MOST_CHANGES
            ]
        )

    @property
    def first(self) -> HistoricChange:
        return self.changes[0]

    @property
    def last(self) -> HistoricChange:
        return self.changes[-1]

    @property
    def is_whole(self) -> bool:
        """Whether its creation is in the log."""
        return self.first.type == Change.Type.ADDED

    @property
    def pod(self) -> PodReference:
        return PodReference(self.uid, self.first.namespace, self.first.name)

    @property
    def key(self) -> str:
        return f"{self.first.namespace}/{self.first.name}"

    @property
    def owner(self) -> Body | None:
        return _controller_of(self.last.object)

    @property
    def end(self) -> HistoricChange | None:
        """The change with which its end began."""
        return next((each for each in self.changes if _is_ending(each)), None)

    def tell(self, *, replaced: _History | None) -> Iterator[Step]:
        """Its creation, its last successful decision, and its end."""
        if self.is_whole:
            created = self.first
            text, evidence = f"pod {self.key} was created", f"change {created.version}"
            if replaced is not None:
                text += f", in place of {replaced.key}"
                owner = self.owner or {}
                evidence = f"the next pod of {owner.get('kind')} {owner.get('name')}"
            yield self._step(created, text, evidence)
        decisions = queries.list_decisions(
            self.cluster, pod_uid=self.uid, result=SchedulingDecision.Result.SCHEDULED
        )
        if (row := decisions.first()) is not None:
            yield Step(
                row.at,
                f"pod {self.key} was scheduled to {row.node} in attempt {row.attempt}",
                f"decision {row.pk}",
                "",
                decision=row.pk,
                pod=self.pod,
                node=row.node,
            )
        if (end := self.end) is not None:
            yield from self.explain_end(end)

    def explain_end(self, end: HistoricChange) -> Iterator[Step]:
        """What led to its end, then the end itself."""
        condition = _condition(end.object, "DisruptionTarget")
        reason = str(condition.get("reason") or "")
        node = str((end.object.get("spec") or {}).get("nodeName") or "")
        match reason:
            case "DeletionByTaintManager":
                yield from _explain_taint(self.cluster, node, end)
            case "DeletionByPodGC":
                yield from _explain_deleted_node(self.cluster, node, end)
            case "PreemptionByScheduler":
                yield from self._explain_preemption(end)
            case "TerminationByKubelet":
                yield from _explain_pressure(self.cluster, node, end)
            case "":
                yield from self._explain_owner(end)
        yield from _explain_operation(self.cluster, end)
        text = f"pod {self.key} was {_ENDS.get(reason, 'deleted')}"
        message = str(condition.get("message") or "")
        evidence = (
            f"condition DisruptionTarget: {reason}, {message}"
            if reason
            else f"change {end.version}"
        )
        yield replace(self._step(end, text, evidence), node=node)

    def _explain_preemption(self, end: HistoricChange) -> Iterator[Step]:
        rows = queries.list_decisions(
            self.cluster, victims__contains=[self.key], at__gte=self.first.at, at__lte=end.at
        ).exclude(unschedulable_plugins=[])
        if (row := rows.first()) is not None:
            yield Step(
                row.at,
                f"pod {row.namespace}/{row.name} found no node in attempt {row.attempt}, and "
                f"preempted pods on {row.nominated_node}",
                f"decision {row.pk}",
                "",
                decision=row.pk,
                pod=PodReference(row.pod_uid, row.namespace, row.name),
                node=row.nominated_node,
            )

    def _explain_owner(self, end: HistoricChange) -> Iterator[Step]:
        """A pod without a disruption: its owner was deleted or has fewer replicas."""
        if self.owner is None:
            return
        yield from _explain_replicas(self.cluster, self.owner, end.version, rising=False)

    def explain_creation(self) -> Iterator[Step]:
        """What led to the creation of a pod that replaces none."""
        if self.owner is not None:
            yield from _explain_replicas(self.cluster, self.owner, self.first.version, rising=True)

    def find_replaced(self) -> _History | None:
        """The pod in whose place it was created."""
        if not self.is_whole or self.owner is None:
            return None
        pairs = _pair(self.cluster, str(self.owner["uid"]), self.first.version)
        return self._other({new: old for old, new in pairs.items()})

    def find_replacement(self) -> _History | None:
        """The pod that was created in its place."""
        if self.end is None or self.owner is None:
            return None
        return self._other(_pair(self.cluster, str(self.owner["uid"]), self.end.version))

    def _other(self, pairs: Mapping[UUID, UUID]) -> _History | None:
        uid = pairs.get(self.uid)
        found = _History(self.cluster, uid) if uid is not None else None
        return found if found is not None and found.changes else None

    def _step(self, change: HistoricChange, text: str, evidence: str) -> Step:
        return Step(change.at, text, evidence, change.user, version=change.version, pod=self.pod)


def _controller_of(body: Body) -> Body | None:
    owners = (body.get("metadata") or {}).get("ownerReferences") or []
    return next((owner for owner in owners if owner.get("controller")), None)


def _condition(body: Body, name: str) -> Body:
    conditions = (body.get("status") or {}).get("conditions") or []
    return next((each for each in conditions if each.get("type") == name), {})


def _is_ending(change: HistoricChange) -> bool:
    if change.type == Change.Type.DELETED or change.object["metadata"].get("deletionTimestamp"):
        return True
    return bool(_condition(change.object, "DisruptionTarget"))


#: Controllers that delete pods only if there are too many.
_SCALING_DOWN: Final = ("replicaset-controller", "replication-controller")
#: Which pods of an owner ended, and which were created, in the order of the log. The end of a pod
#: is the first change with a deletion timestamp, or its deletion.
_OF_OWNER: Final = """
    SELECT c.uid, c.type = 'ADDED', c."user" FROM cluster_history c
    WHERE c.cluster_id = %(cluster)s AND c.version BETWEEN %(first)s AND %(last)s
        AND c.kind = 'Pod' AND (c.type <> 'MODIFIED'
            OR c."object" #> '{metadata,deletionTimestamp}' IS NOT NULL)
        AND c."object" #> '{metadata,ownerReferences}' @> %(owner)s::jsonb
    ORDER BY c.version
"""


def _pair(cluster: Cluster, owner: str, version: int) -> dict[UUID, UUID]:
    """The pods of an owner that ended around a version -> the pods created in their place.

    An owner creates a pod for each that has begun to end, in any order: the first is paired with
    the first. One that creates the new pod first, as in a rolling update, replaces none; nor is a
    pod replaced that its owner deleted for a lower number of replicas.
    """
    parameters: dict[str, Any] = {
        "cluster": cluster.pk,
        "first": version - _PAIRED_WITHIN,
        "last": version + _PAIRED_WITHIN,
        "owner": f'[{{"uid": "{UUID(owner)}"}}]',
    }
    with connection.cursor() as cursor:
        cursor.execute(_OF_OWNER, parameters)
        rows = cursor.fetchall()
    ended: dict[UUID, None] = {}
    waiting: deque[UUID] = deque()
    pairs: dict[UUID, UUID] = {}
    for uid, is_new, user in rows:
        if is_new:
            if waiting:
                pairs[waiting.popleft()] = uid
        elif uid not in ended:
            ended[uid] = None
            if user not in _SCALING_DOWN:
                waiting.append(uid)
    return pairs


def _changes_of_node(cluster: Cluster, name: str, until: int) -> list[HistoricChange]:
    """The changes of the node that had this name at a version, up to it, newest first."""
    changes = HistoricChange.objects.filter(
        cluster=cluster, uid__in=_list_node_uids(cluster, name), version__lte=until
    )
    return list(changes.order_by("-version")[:_MOST_CHANGES])


def _list_node_uids(cluster: Cluster, name: str) -> list[UUID]:
    """The nodes that have, or had, this name."""
    nodes = Node.objects.filter(cluster=cluster, name=name).values_list("uid", flat=True)
    deleted = HistoricChange.objects.filter(
        cluster=cluster, kind="Node", name=name, type=Change.Type.DELETED
    )
    return [*nodes, *deleted.values_list("uid", flat=True)]


def _node_step(change: HistoricChange, text: str, evidence: str) -> Step:
    return Step(change.at, text, evidence, change.user, version=change.version, node=change.name)


def _explain_taint(cluster: Cluster, node: str, end: HistoricChange) -> Iterator[Step]:
    """The change that tainted the node, and what made the node not ready."""
    changes = _changes_of_node(cluster, node, end.version)
    taints = _evicting(changes[0].object) if changes else {}
    added: HistoricChange | None = None
    for change in changes:
        if not taints.keys() & _evicting(change.object).keys():
            break
        added = change
    if added is None:
        return
    before = [each for each in changes if each.version < added.version]
    keys = sorted(taints.keys() & _evicting(added.object).keys())
    if set(keys) & set(_READINESS):
        yield from _explain_readiness([added, *before])
    names = ", ".join(f"{key}:NoExecute" for key in keys)
    evidence = _describe_tolerations(end.object, keys)
    yield _node_step(added, f"node {node} was tainted {names}", evidence)


def _explain_readiness(changes: Sequence[HistoricChange]) -> Iterator[Step]:
    """The change with which the node was no longer ready."""
    lost: HistoricChange | None = None
    for change in changes:
        if _condition(change.object, "Ready").get("status") == "True":
            break
        lost = change
    if lost is not None:
        ready = _condition(lost.object, "Ready")
        status = ready.get("status") or "not set"
        evidence = f"condition Ready: {status}" + (
            f", {ready['reason']}" if ready.get("reason") else ""
        )
        yield _node_step(lost, f"node {lost.name} failed", evidence)


def _evicting(body: Body) -> dict[str, Body]:
    taints = (body.get("spec") or {}).get("taints") or []
    return {taint["key"]: taint for taint in taints if taint.get("effect") == "NoExecute"}


def _describe_tolerations(pod: Body, keys: Sequence[str]) -> str:
    """For how long the pod tolerated these taints."""
    limits = [
        each["tolerationSeconds"]
        for each in (pod.get("spec") or {}).get("tolerations") or []
        if each.get("tolerationSeconds") is not None
        and each.get("effect") in (None, "", "NoExecute")
        and each.get("key") in (None, "", *keys)
    ]
    if not limits:
        return "the pod did not tolerate it"
    return f"the pod tolerated it for {min(limits):,} s"


def _explain_deleted_node(cluster: Cluster, node: str, end: HistoricChange) -> Iterator[Step]:
    for change in _changes_of_node(cluster, node, end.version)[:1]:
        if change.type == Change.Type.DELETED:
            yield _node_step(change, f"node {node} was deleted", f"change {change.version}")


def _explain_pressure(cluster: Cluster, node: str, end: HistoricChange) -> Iterator[Step]:
    """The change with which the node came under pressure."""
    changes = _changes_of_node(cluster, node, end.version)
    for name in ("MemoryPressure", "DiskPressure", "PIDPressure"):
        began: HistoricChange | None = None
        for change in changes:
            if _condition(change.object, name).get("status") != "True":
                break
            began = change
        if began is not None:
            yield _node_step(began, f"node {node} came under {name}", f"condition {name}: True")
            return


def _explain_operation(cluster: Cluster, end: HistoricChange) -> Iterator[Step]:
    """The operation, such as a drain, that made this change."""
    if not end.request_id:
        return
    row = Operation.objects.filter(cluster=cluster, request_id=end.request_id).first()
    if row is not None:
        at = min(row.started_at or row.created_at, end.at)
        yield Step(
            at, f"operation: {row.title}", f"request {end.request_id}", row.user, operation=row.pk
        )


def _explain_replicas(
    cluster: Cluster, owner: Body, version: int, *, rising: bool
) -> Iterator[Step]:
    """The change of an owner, and of its owner, that asked for more or fewer pods."""
    changes = HistoricChange.objects.filter(
        cluster=cluster, uid=str(owner["uid"]), version__lt=version
    ).order_by("-version")[:_MOST_CHANGES]
    later: HistoricChange | None = None
    for change in changes:
        if later is not None and _replicas(change.object) != _replicas(later.object):
            if rising == (_replicas(change.object) < _replicas(later.object)):
                break
            return
        later = change
    if later is None:
        return
    above = _controller_of(later.object)
    if above is not None:
        yield from _explain_replicas(cluster, above, later.version, rising=rising)
    yield _describe_owner(later, _replicas_before(cluster, later))


def _replicas_before(cluster: Cluster, change: HistoricChange) -> int | None:
    if change.previous_version is None:
        return None
    before = HistoricChange.objects.filter(cluster=cluster, version=change.previous_version)
    found = before.filter(uid=change.uid).first()
    return _replicas(found.object) if found is not None else None


def _describe_owner(change: HistoricChange, before: int | None) -> Step:
    name = f"{change.kind} {change.namespace}/{change.name}"
    match change.type:
        case Change.Type.DELETED:
            text = f"{name} was deleted"
        case Change.Type.ADDED:
            text = f"{name} was created"
        case _:
            numbers = "" if before is None else f" from {before:,} to {_replicas(change.object):,}"
            text = (
                f"{name} was changed"
                if before == _replicas(change.object)
                else f"{name} was scaled{numbers}"
            )
    return Step(change.at, text, f"change {change.version}", change.user, version=change.version)


def _replicas(body: Body) -> int:
    found = (body.get("spec") or {}).get("replicas")
    return found if isinstance(found, int) else 1


#: The pods that ended on a node because of it, or in a request. A change of a pod that had been
#: evicted before is no new end: the first one counts.
_ENDED: Final = """
    SELECT DISTINCT ON (c.uid) c.version FROM cluster_history c
    WHERE c.cluster_id = %(cluster)s AND c.version > %(first)s AND c.version <= %(last)s
        AND c.kind = 'Pod' AND c.type <> 'ADDED'
        AND ((c.version <= %(recovered)s AND c."user" = ANY(%(controllers)s)
                AND c."object" #>> '{spec,nodeName}' = %(node)s)
            OR (%(request)s <> '' AND c.request_id = %(request)s))
        AND (c.type = 'DELETED' OR c."object" #> '{metadata,deletionTimestamp}' IS NOT NULL)
        AND (c."user" <> 'kubelet' OR c."object" @? %(by_kubelet)s::jsonpath)
    ORDER BY c.uid, c.version
"""
_CONTROLLERS: Final = ("taint-eviction-controller", "pod-garbage-collector", "kubelet")
_BY_KUBELET: Final = '$.status.conditions[*] ? (@.reason == "TerminationByKubelet")'


def find_change(cluster: Cluster, version: int) -> HistoricChange:
    """The change with this version; NotFound if it is not in the log."""
    change = HistoricChange.objects.filter(cluster=cluster, version=version).first()
    if change is None:
        raise NotFound("changes", str(version))
    return change


def read_consequences(cluster: Cluster, change: HistoricChange) -> Consequences:
    """The pods that ended because of this change of a node, or in the request that made it.

    Those of a node are searched until it is ready again without taints that evict.
    """
    is_node = change.kind == "Node" and change.type != Change.Type.ADDED
    if not is_node and (change.kind == "Pod" or not change.request_id):
        return Consequences([], truncated=False)
    parameters: dict[str, Any] = {
        "cluster": cluster.pk,
        "first": change.version,
        "last": change.version + _SEARCHED,
        "recovered": _find_recovery(cluster, change) if is_node else 0,
        "node": change.name if is_node else "",
        "controllers": list(_CONTROLLERS),
        "request": change.request_id,
        "by_kubelet": _BY_KUBELET,
    }
    with connection.cursor() as cursor:
        cursor.execute(_ENDED, parameters)
        versions = sorted(version for (version,) in cursor.fetchall())
    shown = HistoricChange.objects.filter(cluster=cluster, version__in=versions[:MOST_ENDED])
    ends = list(shown.order_by("version"))
    return Consequences(_describe_ends(cluster, ends), len(versions) > MOST_ENDED)


def _find_recovery(cluster: Cluster, change: HistoricChange) -> int:
    """The version with which the node no longer evicts pods."""
    limit = change.version + _SEARCHED
    later = HistoricChange.objects.filter(cluster=cluster, uid=change.uid)
    for each in later.filter(version__gt=change.version, version__lte=limit).order_by("version"):
        is_ready = _condition(each.object, "Ready").get("status") == "True"
        if is_ready and not _evicting(each.object) and each.type != Change.Type.DELETED:
            return each.version
    return limit


def _describe_ends(cluster: Cluster, ends: Sequence[HistoricChange]) -> list[EndedPod]:
    pairs: dict[UUID, UUID] = {}
    owners = {
        str(owner["uid"]): end.version
        for end in reversed(ends)
        if (owner := _controller_of(end.object)) is not None
    }
    for uid, version in list(owners.items())[:_MOST_OWNERS]:
        pairs |= _pair(cluster, uid, version)
    uids = {pairs[end.uid] for end in ends if end.uid in pairs}
    created = HistoricChange.objects.filter(
        cluster=cluster, uid__in=uids, type=Change.Type.ADDED
    ).defer("object")
    new = {each.uid: PodReference(each.uid, each.namespace, each.name) for each in created}
    scheduled = queries.list_decisions(
        cluster, pod_uid__in=uids, result=SchedulingDecision.Result.SCHEDULED
    )
    decisions = {row.pod_uid: row for row in scheduled.order_by("id")}
    return [_describe_end(end, new.get(pairs.get(end.uid, end.uid)), decisions) for end in ends]


def _describe_end(
    end: HistoricChange,
    replacement: PodReference | None,
    decisions: Mapping[UUID, SchedulingDecision],
) -> EndedPod:
    row = decisions.get(replacement.uid) if replacement is not None else None
    reason = str(_condition(end.object, "DisruptionTarget").get("reason") or "")
    return EndedPod(
        PodReference(end.uid, end.namespace, end.name),
        end.at,
        end.version,
        _ENDS.get(reason, "deleted"),
        replacement,
        row.pk if row is not None else None,
        row.node if row is not None else "",
    )
