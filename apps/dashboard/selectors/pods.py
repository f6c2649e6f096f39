"""What the page of pods and the page of one pod show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.fields.json import KeyTextTransform

from apps.cluster.errors import NotFound
from apps.cluster.models import Change, Cluster, Event, Namespace, Pod
from apps.cluster.selectors import label_requirements
from apps.controlplane import selectors
from apps.controlplane.models import QueueEntry, SchedulingDecision
from apps.dashboard.paging import NumberedPage, numbered_page

ENDED = ("Succeeded", "Failed")
SORTS = {
    "name": ("namespace", "name"),
    "created": ("created_at", "pk"),
    "priority": ("priority", "pk"),
    "node": ("node_name", "pk"),
}
STATES: Mapping[str, Q] = {
    "pending": Q(node_name="") & ~Q(phase__in=ENDED),
    "bound": ~Q(node_name="") & ~Q(phase__in=ENDED),
    "succeeded": Q(phase="Succeeded"),
    "failed": Q(phase="Failed"),
}
MOST_ATTEMPTS = 50
MOST_EVENTS = 20
MOST_CHANGES = 30


@dataclass(frozen=True, slots=True)
class PodRow:
    """A pod of the list and, while it waits, its place in the queue."""

    pod: Pod
    entry: QueueEntry | None

    @property
    def state(self) -> str:
        return pod_state(self.pod, self.entry)


@dataclass(frozen=True, slots=True)
class PodList:
    """A page of pods, and what the list can be narrowed by."""

    page: NumberedPage[PodRow]
    namespaces: Sequence[str]


@dataclass(frozen=True, slots=True)
class OnePod:
    """A pod and its story."""

    pod: Pod
    entry: QueueEntry | None
    attempts: Sequence[SchedulingDecision]
    attempt_count: int
    events: Sequence[Event]
    changes: Sequence[Change]

    @property
    def state(self) -> str:
        return pod_state(self.pod, self.entry)

    @property
    def conditions(self) -> Sequence[Mapping[str, Any]]:
        return (self.pod.body.get("status") or {}).get("conditions") or []

    @property
    def why_pending(self) -> str:
        """One sentence; empty for a pod that does not wait."""
        if self.state not in QueueEntry.Queue.values:
            return ""
        if self.entry is not None and self.entry.gated_by:
            gates = [gate["name"] for gate in self.pod.body["spec"].get("schedulingGates") or ()]
            return f"It waits for its scheduling gates to be removed: {', '.join(gates)}."
        if self.attempts:
            last = self.attempts[0]
            return " ".join(filter(None, (last.message, last.post_filter_message)))
        return "It waits in activeQ for its first attempt."


def pod_state(pod: Pod, entry: QueueEntry | None) -> str:
    """The queue a pending pod is in, else "bound", "succeeded" or "failed"."""
    if pod.phase in ENDED:
        return pod.phase.lower()
    if pod.node_name:
        return "bound"
    return entry.queue if entry is not None else QueueEntry.Queue.ACTIVE.value


def pod_list(cluster: Cluster, query: Mapping[str, str]) -> PodList:
    """Pods narrowed and sorted as the address asks; BadRequest for a bad label selector."""
    pods = Pod.objects.filter(cluster=cluster).defer("body")
    if text := query.get("q", "").strip():
        pods = pods.filter(name__contains=text)
    for parameter, column in (("namespace", "namespace"), ("node", "node_name")):
        if value := query.get(parameter, ""):
            pods = pods.filter(**{column: value})
    pods = pods.filter(STATES.get(query.get("state", ""), Q()))
    pods = with_labels(pods, query.get("labels", ""))
    sort = query.get("sort", "name")
    columns = SORTS.get(sort.removeprefix("-"), SORTS["name"])
    sign = "-" if sort.startswith("-") else ""
    page = numbered_page(pods.order_by(*(f"{sign}{column}" for column in columns)), query)
    entries = _entries(cluster, [pod.uid for pod in page.rows if not pod.node_name])
    rows = [PodRow(pod, entries.get(pod.uid)) for pod in page.rows]
    namespaces = Namespace.objects.filter(cluster=cluster).order_by("name")
    return PodList(
        page.showing(rows),
        list(namespaces.values_list("name", flat=True)),
    )


def one_pod(cluster: Cluster, namespace: str, name: str) -> OnePod:
    """Everything the page of a pod shows; NotFound when there is none."""
    pod = Pod.objects.filter(cluster=cluster, namespace=namespace, name=name).first()
    if pod is None:
        raise NotFound("pods", name)
    attempts = selectors.decisions(cluster, pod_uid=pod.uid)
    events = Event.objects.filter(cluster=cluster, involved_uid=str(pod.uid)).order_by("-pk")
    changes = Change.objects.filter(cluster=cluster, uid=pod.uid).defer("object")
    return OnePod(
        pod=pod,
        entry=_entries(cluster, [pod.uid]).get(pod.uid),
        attempts=list(attempts[:MOST_ATTEMPTS]),
        attempt_count=attempts.count(),
        events=list(events[:MOST_EVENTS]),
        changes=list(changes.order_by("-version")[:MOST_CHANGES]),
    )


def with_labels(pods: QuerySet[Pod], selector: str) -> QuerySet[Pod]:
    """The pods a label selector picks; BadRequest when it cannot be read."""
    for requirement in label_requirements(selector):
        key, values = requirement.key, list(requirement.values)
        has_one = Q(labels__has_key=key)
        match requirement.operator:
            case "Exists":
                pods = pods.filter(has_one)
            case "DoesNotExist":
                pods = pods.exclude(has_one)
            case "NotIn":
                pods = pods.exclude(pk__in=_labelled(pods, key, values))
            case _:
                pods = _labelled(pods, key, values)
    return pods


def _labelled(pods: QuerySet[Pod], key: str, values: list[str]) -> QuerySet[Pod]:
    return pods.alias(label=KeyTextTransform(key, "labels")).filter(label__in=values)


def _entries(cluster: Cluster, uids: Sequence[UUID]) -> dict[UUID, QueueEntry]:
    found = QueueEntry.objects.filter(cluster=cluster, pod_uid__in=uids)
    return {entry.pod_uid: entry for entry in found.defer("state")}
