"""Finding decisions in the ledger: one set of filters for the API, the pages and the export.

    filters = finding.parse(request.GET)            # BadRequest names the wrong parameter
    rows = finding.find(filters, cluster_id=cluster.pk)

`find` returns a QuerySet, newest first, without the columns; ids have the order in which decisions
were recorded, so `id < last` is the next page. Every filter has an index. Decisions of deleted
clusters are found by the id of the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db.models import QuerySet
from django.utils import timezone

from apps.cluster.access.reach import EVERYTHING, Reach
from apps.cluster.errors import BadRequest
from apps.cluster.models import Change, Namespace
from apps.engine.models import SchedulingDecision
from apps.engine.patterns import match_pod
from apps.engine.periods import parse_period

Kind = Literal["text", "number", "time", "zone", "uid", "result"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One filter, as a query parameter or an option of a command."""

    name: str
    kind: Kind
    meaning: str


PARAMETERS = (
    Parameter(
        "pod",
        "text",
        "Part of a name; `web-*`: its beginning; `namespace/name`: this pod.",
    ),
    Parameter("namespace", "text", "The pod's namespace."),
    Parameter("pod_uid", "uid", "The uid of the pod."),
    Parameter(
        "workload",
        "text",
        "The controller of the pod: `Deployment/web`, `Job/import`; `none` for pods without one.",
    ),
    Parameter("node", "text", "The node that the pod was bound to."),
    Parameter("profile", "text", "The schedulerName of a profile."),
    Parameter("revision", "number", "The revision of the cluster's configuration."),
    Parameter("result", "result", "How the attempt ended."),
    Parameter("plugin", "text", "A plugin that rejected a node, or the pod."),
    Parameter("reason", "text", "The exact reason of a plugin: `Insufficient cpu`."),
    Parameter("main_plugin", "text", "The plugin that rejected the most nodes, or the pod."),
    Parameter("main_reason", "text", "The reason of the most nodes."),
    Parameter(
        "victim",
        "text",
        "`namespace/name`, or a name in any namespace, of a preempted pod; `*`: of any pod.",
    ),
    Parameter(
        "since",
        "time",
        "At or after this time of the cluster's clock: `1h` (before now), `today`, `yesterday`, "
        "`09:00`, `2026-11-22T09:00`.",
    ),
    Parameter("until", "time", "Before this time, in the same forms."),
    Parameter("zone", "zone", "The time zone of times without an offset: `Europe/Berlin`."),
    Parameter("attempt", "number", "The number of the attempt."),
    Parameter("min_attempt", "number", "The minimum number of the attempt."),
    Parameter("request_id", "text", "The request that created the pod: its X-Request-ID."),
    Parameter(
        "text",
        "text",
        'Words of the message: `cpu taint`, `"untolerated taint"`, `cpu -taint`, `cpu or memory`.',
    ),
)
_BY_NAME = {parameter.name: parameter for parameter in PARAMETERS}
_MAX_NUMBER = 2**31 - 1
#: The value of `victim` for decisions that preempted any pod.
ANY_VICTIM = "*"
#: The value of `workload` for pods without a controller; other values have a slash.
NO_WORKLOAD = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFilters:
    """The filters by the names of PARAMETERS; an empty one matches every decision."""

    pod: str = ""
    namespace: str = ""
    pod_uid: UUID | None = None
    workload: str = ""
    node: str = ""
    profile: str = ""
    revision: int | None = None
    result: str = ""
    plugin: str = ""
    reason: str = ""
    main_plugin: str = ""
    main_reason: str = ""
    victim: str = ""
    since: datetime | None = None
    until: datetime | None = None
    attempt: int | None = None
    min_attempt: int | None = None
    request_id: str = ""
    text: str = ""


def parse(query: Mapping[str, Any], *, now: datetime | None = None) -> DecisionFilters:
    """The filters among these parameters; others are ignored.

    Raises BadRequest that names a wrong one. Relative times count back from `now`, by default the
    system's time.
    """
    values: dict[str, Any] = {}
    for name, parameter in _BY_NAME.items():
        text = str(query.get(name) or "").strip()
        if "\x00" in text:
            raise BadRequest(f"{name}: holds a NUL character")
        if text and parameter.kind not in ("time", "zone"):
            values[name] = _parse_value(parameter, text)
    period = parse_period(query, now=now or timezone.now())
    return DecisionFilters(**values, since=period.since, until=period.until)


def find(
    filters: DecisionFilters, *, cluster_id: int | None = None, reach: Reach = EVERYTHING
) -> QuerySet[SchedulingDecision]:
    """The decisions that match all filters, newest first, without their columns."""
    rows = reach.restrict(SchedulingDecision.objects.defer("columns").order_by("-id"))
    if cluster_id is not None:
        rows = rows.filter(cluster_id=cluster_id)
    rows = _filter_by_pod(rows, filters)
    exact: dict[str, Any] = {
        "namespace": filters.namespace,
        "pod_uid": filters.pod_uid,
        "node": filters.node,
        "scheduler_name": filters.profile,
        "profile_revision": filters.revision,
        "result": filters.result,
        "at__gte": filters.since,
        "at__lt": filters.until,
        "attempt": filters.attempt,
        "attempt__gte": filters.min_attempt,
        "request_id": filters.request_id,
    }
    rows = rows.filter(**{name: value for name, value in exact.items() if value not in ("", None)})
    if filters.workload:
        rows = rows.filter(workload="" if filters.workload == NO_WORKLOAD else filters.workload)
    return _filter_by_words(_filter_by_rejection(rows, filters, cluster_id), filters.text)


def _filter_by_pod(
    rows: QuerySet[SchedulingDecision], filters: DecisionFilters
) -> QuerySet[SchedulingDecision]:
    if not filters.pod:
        return rows
    wanted = match_pod(filters.pod)
    return rows.filter(**{name: value for name, value in wanted.items() if value})


def _filter_by_rejection(
    rows: QuerySet[SchedulingDecision], filters: DecisionFilters, cluster_id: int | None
) -> QuerySet[SchedulingDecision]:
    # the first item alone has no index: the decisions that contain it are found, then checked
    wanted = {
        "unschedulable_plugins__contains": [filters.plugin, filters.main_plugin],
        "reasons__contains": [filters.reason, filters.main_reason],
    }
    given: dict[str, Any] = {
        name: [*filter(None, values)] for name, values in wanted.items() if any(values)
    }
    if filters.victim == ANY_VICTIM:
        given["victims__len__gt"] = 0
    elif filters.victim:
        given["victims__overlap"] = _victim_keys(filters.victim, cluster_id)
    first = {
        "unschedulable_plugins__0": filters.main_plugin,
        "reasons__0": filters.main_reason,
    }
    given |= {name: value for name, value in first.items() if value}
    # the index leaves out decisions without a rejection
    return rows.exclude(unschedulable_plugins=[]).filter(**given) if given else rows


def _victim_keys(victim: str, cluster_id: int | None) -> list[str]:
    """`namespace/name` of a victim; of a name, in every namespace, also deleted ones."""
    if "/" in victim:
        return [victim]
    here = {} if cluster_id is None else {"cluster": cluster_id}
    present = Namespace.objects.filter(**here)
    deleted = Change.objects.filter(kind="Namespace", type=Change.Type.DELETED, **here)
    names = {*present.values_list("name", flat=True), *deleted.values_list("name", flat=True)}
    return [f"{namespace}/{victim}" for namespace in sorted(names)]


def _filter_by_words(rows: QuerySet[SchedulingDecision], text: str) -> QuerySet[SchedulingDecision]:
    if not text:
        return rows
    words = SearchVector("message", "post_filter_message", config="simple")
    query = SearchQuery(text, config="simple", search_type="websearch")
    return rows.exclude(message="").alias(words=words).filter(words=query)


def _parse_value(parameter: Parameter, text: str) -> Any:
    name = parameter.name
    match parameter.kind:
        case "number":
            if (
                not (text.isascii() and text.isdecimal())
                or len(text) > 10
                or int(text) > _MAX_NUMBER
            ):
                raise BadRequest(f"{name}: {text!r} is not a whole number from 0 to {_MAX_NUMBER}")
            return int(text)
        case "uid":
            try:
                return UUID(text)
            except ValueError as error:
                raise BadRequest(f"{name}: {text!r} is not a UUID") from error
        case "result":
            if text not in SchedulingDecision.Result.values:
                known = ", ".join(SchedulingDecision.Result.values)
                raise BadRequest(f"{name}: {text!r} is not one of {known}")
    return text
