"""The page of pods."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast
from uuid import UUID

from django.db.models import BigIntegerField, Exists, F, OuterRef, Q, QuerySet
from django.db.models.expressions import OrderBy
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce

from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster, KubernetesObject, Namespace, Pod
from apps.cluster.selectors import label_requirements
from apps.dashboard.paging import NumberedPage, numbered_page
from apps.dashboard.tables import Field, Sorting, complete_fields, read_sorting, refuse_unknown
from apps.engine.models import PermitWait, QueueEntry
from apps.engine.queries import list_pods_of_other_schedulers, list_scheduler_names
from apps.engine.queue.listing import Part

Rows = TypeVar("Rows", bound=KubernetesObject)

ENDED = ("Succeeded", "Failed")
#: Column of the table -> fields the rows are ordered by.
SORTS: Mapping[str, tuple[str, ...]] = {
    "name": ("namespace", "name"),
    "created": ("created_at", "pk"),
    "priority": ("priority", "pk"),
    "node": ("node_name", "pk"),
    "cpu": ("cpu", "pk"),
    "memory": ("memory", "pk"),
}
STATES: Mapping[str, Q] = {
    "pending": Q(node_name="") & ~Q(phase__in=ENDED),
    "bound": ~Q(node_name="") & ~Q(phase__in=ENDED),
    "succeeded": Q(phase="Succeeded"),
    "failed": Q(phase="Failed"),
}
#: States of the filter that are queues of pending pods.
QUEUES = tuple(Part.values)
_IS_HELD: Final = "is_held"
_DELETED_AT: Final = "deleted_at"
_DELETION_PATH: Final = "body__metadata__deletionTimestamp"
#: The state of a pending pod whose schedulerName no profile has.
OTHER_SCHEDULER = "others"


_REQUESTS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class PodRow:
    """A pod of the list, with its state: `pod_state`; a pending one with its entry in the queue."""

    pod: Pod
    state: str
    entry: QueueEntry | None = None
    is_terminating: bool = False

    @property
    def key(self) -> str:
        """The pod as `namespace/name`."""
        return f"{self.pod.namespace}/{self.pod.name}"

    @property
    def other_requests(self) -> list[tuple[str, int]]:
        """Requests besides CPU and memory, the first `_REQUESTS_SHOWN` of them."""
        return self._others[:_REQUESTS_SHOWN]

    @property
    def more_requests(self) -> int:
        """How many requests `other_requests` leaves out."""
        return len(self._others) - len(self.other_requests)

    @property
    def _others(self) -> list[tuple[str, int]]:
        return [each for each in self.pod.requests.items() if each[0] not in ("cpu", "memory")]


@dataclass(frozen=True, slots=True)
class PodList:
    """A page of pods, with its sorting and the filters of the list."""

    page: NumberedPage[PodRow]
    sorting: Sorting[tuple[str, ...]]
    filters: Sequence[Field]
    #: Whether the list has pending pods, or is not filtered: then others may be on another page.
    concerns_pending: bool


def pod_state(
    pod: Pod, entry: QueueEntry | None, profiles: Collection[str], *, is_held: bool
) -> str:
    """ "bound", "succeeded", "failed"; for a pending pod its `Part` of the queue, or
    OTHER_SCHEDULER.

    `profiles`: the schedulerNames of the cluster's active configuration. `is_held`: whether Permit
    plugins hold the pod.
    """
    if pod.phase in ENDED:
        return pod.phase.lower()
    if pod.node_name:
        return "bound"
    if pod.scheduler_name not in profiles:
        return OTHER_SCHEDULER
    if is_held:
        return Part.PERMIT.value
    return entry.queue if entry is not None else QueueEntry.Queue.ACTIVE.value


def pod_list(cluster: Cluster, query: Mapping[str, str]) -> PodList:
    """Pods filtered and sorted as the address says; BadRequest for an invalid label selector."""
    filters = _filters(cluster)
    refuse_unknown(query, filters)
    sorting = read_sorting(query, SORTS, default="name")
    waits = PermitWait.objects.filter(cluster=cluster, pod_uid=OuterRef("uid"))
    matches = filter_pods(cluster, query).defer("body")
    matches = matches.annotate(**{_IS_HELD: Exists(waits), _DELETED_AT: F(_DELETION_PATH)})
    matches = _sort(matches, sorting)
    page = numbered_page(matches, query)
    entries = queue_entries(cluster, [pod.uid for pod in page.rows if not pod.node_name])
    profiles = list_scheduler_names(cluster)
    rows = [
        PodRow(
            pod,
            pod_state(pod, entry, profiles, is_held=getattr(pod, _IS_HELD)),
            entry,
            is_terminating=getattr(pod, _DELETED_AT) is not None,
        )
        for pod, entry in ((pod, entries.get(pod.uid)) for pod in page.rows)
    ]
    concerns_pending = not any(query.get(each.name) for each in filters) or any(
        not pod.node_name and pod.phase not in ENDED for pod in page.rows
    )
    return PodList(page.showing(rows), sorting, filters, concerns_pending)


def filter_pods(cluster: Cluster, query: Mapping[str, str]) -> QuerySet[Pod]:
    """The pods that the address selects, unsorted; BadRequest for an invalid parameter."""
    pods = Pod.objects.filter(cluster=cluster)
    if text := query.get("q", "").strip():
        pods = pods.filter(name__contains=text)
    for parameter, column in (("namespace", "namespace"), ("node", "node_name")):
        if value := query.get(parameter, "").strip():
            pods = pods.filter(**{column: value})
    if priority := query.get("priority", "").strip():
        pods = pods.filter(priority=_parse_priority(priority))
    pods = _in_state(cluster, pods, query.get("state", ""))
    return filter_by_labels(pods, query.get("labels", ""))


def matching_pods(cluster: Cluster, query: Mapping[str, str]) -> list[str]:
    """All pods that the filters of the list match, as `namespace/name`."""
    matches = filter_pods(cluster, query).order_by("namespace", "name")
    return [f"{namespace}/{name}" for namespace, name in matches.values_list("namespace", "name")]


def filter_by_labels(pods: QuerySet[Rows], selector: str) -> QuerySet[Rows]:
    """The pods, or other objects, that a label selector matches; BadRequest if it is invalid."""
    for requirement in label_requirements(selector):
        key, values = requirement.key, list(requirement.values)
        has_one = Q(labels__has_key=key)
        match requirement.operator:
            case "Exists":
                pods = pods.filter(has_one)
            case "DoesNotExist":
                pods = pods.exclude(has_one)
            case "NotIn":
                pods = pods.exclude(pk__in=_filter_by_label(pods, key, values))
            case _:
                pods = _filter_by_label(pods, key, values)
    return pods


def queue_entries(cluster: Cluster, uids: Sequence[UUID]) -> dict[UUID, QueueEntry]:
    """The queue entries of these pods, by uid."""
    entries = QueueEntry.objects.filter(cluster=cluster, pod_uid__in=uids)
    return {entry.pod_uid: entry for entry in entries.defer("state")}


def _in_state(cluster: Cluster, pods: QuerySet[Pod], state: str) -> QuerySet[Pod]:
    if state == OTHER_SCHEDULER:
        return list_pods_of_other_schedulers(cluster) & pods
    if state not in QUEUES:
        return pods.filter(STATES.get(state, Q()))
    pending = pods.filter(STATES["pending"], scheduler_name__in=list_scheduler_names(cluster))
    queued = QueueEntry.objects.filter(cluster=cluster)
    held = PermitWait.objects.filter(cluster=cluster).values("pod_uid")
    if state == Part.PERMIT:
        return pending.filter(uid__in=held)
    pending = pending.exclude(uid__in=held)
    if state == Part.ACTIVE:
        # a pod without an entry waits in activeQ for its first attempt
        elsewhere = queued.exclude(queue=state)
        return pending.exclude(uid__in=elsewhere.values("pod_uid"))
    return pending.filter(uid__in=queued.filter(queue=state).values("pod_uid"))


def _sort(pods: QuerySet[Pod], sorting: Sorting[tuple[str, ...]]) -> QuerySet[Pod]:
    if sorting.name in ("cpu", "memory"):
        amount = Cast(KeyTextTransform(sorting.name, "requests"), BigIntegerField())
        pods = pods.annotate(**{sorting.name: Coalesce(amount, 0)})
    return pods.order_by(*(OrderBy(F(key), descending=sorting.descending) for key in sorting.key))


def _filter_by_label(pods: QuerySet[Rows], key: str, values: list[str]) -> QuerySet[Rows]:
    labelled = pods.alias(label=KeyTextTransform(key, "labels")).filter(label__in=values)
    return cast("QuerySet[Rows]", labelled)


def _parse_priority(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise BadRequest(f"priority: {text!r} is not a whole number") from None
    return max(-(2**31), min(number, 2**31 - 1))


def _filters(cluster: Cluster) -> list[Field]:
    namespaces = Namespace.objects.filter(cluster=cluster).order_by("name")
    fields = [
        Field("q", "Name", hint="contains"),
        Field("namespace", "Namespace", choices=list(namespaces.values_list("name", flat=True))),
        Field("state", "State", choices=[*STATES, *_queue_choices()]),
        Field("node", "Node", hint="whole name"),
        Field("labels", "Labels", hint="app=web,tier!=db"),
        Field("priority", "Priority", hint="1000"),
    ]
    return complete_fields(cluster, fields, ("node",))


def _queue_choices() -> list[Any]:
    queues = [(name, f"pending: {label}") for name, label in Part.choices]
    return [*queues, (OTHER_SCHEDULER, "pending: other schedulers")]
