"""The pages of the queue: the pods in it, and the moves between its parts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.dashboard.alike import Alike, group_alike
from apps.dashboard.downloads import list_files
from apps.dashboard.paging import (
    LogPage,
    NumberedPage,
    log_page,
    numbered_page,
    page_size,
    parse_whole_number,
)
from apps.dashboard.queries.elsewhere import Elsewhere, look_elsewhere
from apps.dashboard.tables import (
    PERIOD,
    Field,
    Sorting,
    describe_problem,
    read_sorting,
    refuse_unknown,
)
from apps.engine.models import QueueMove
from apps.engine.periods import Period, parse_period
from apps.engine.profiles.plugins import plugin_names
from apps.engine.queries import list_pods_of_other_schedulers
from apps.engine.queue import history, listing
from apps.engine.queue.listing import SORTS, Cycles, Part, QueuedPod, QueueFilter, Sort
from apps.scheduler.framework import events

#: Parameters with which the page shows the queue of another time.
MOMENTS = ("at", "version", "decision", "zone")

#: Which pods are in each queue, and when they leave it.
MEANINGS = {
    Part.ACTIVE: "ready to be scheduled, in this order",
    Part.BACKOFF: "failed recently; retried when the backoff ends",
    Part.UNSCHEDULABLE: "fit on no node; retried after an event that may help",
    Part.GATED: "not scheduled until their gates are removed",
    Part.PERMIT: "have a node; bound when the plugin that holds them allows it",
}

#: So many pods are grouped over the whole list; of more, those of a page.
_GROUPED: Final = 2_000


@dataclass(frozen=True, slots=True)
class QueueSize:
    """One part of the queue and its number of pods."""

    queue: Part
    size: int
    #: the table shows only this queue
    chosen: bool

    @property
    def meaning(self) -> str:
        return MEANINGS[self.queue]


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One pod, or pods of one workload that wait for the same."""

    alike: Alike[QueuedPod]

    @property
    def first(self) -> QueuedPod:
        return self.alike.first

    @property
    def places(self) -> str:
        return _span([pod.position for pod in self.alike.rows])

    @property
    def attempts(self) -> str:
        return _span([pod.attempts for pod in self.alike.rows])

    @property
    def since(self) -> datetime:
        """Since when the one that waits longest waits."""
        return min(pod.timestamp for pod in self.alike.rows)

    @property
    def expiry(self) -> datetime | None:
        """When the first backoff ends."""
        ends = [pod.backoff_expiry for pod in self.alike.rows]
        return min((end for end in ends if end is not None), default=None)

    @property
    def keys(self) -> Sequence[str]:
        return [f"{pod.namespace}/{pod.name}" for pod in self.alike.rows]


def _span(numbers: Sequence[int]) -> str:
    first, last = min(numbers), max(numbers)
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"


def _waits_for(pod: QueuedPod) -> Hashable:
    """What pods in one row have in common."""
    return (
        *(pod.queue, pod.priority, pod.gated_by, pod.held_node, pod.nominated_node),
        *map(tuple, (pod.unschedulable_plugins, pod.pending_plugins, pod.gates, pod.held_by)),
    )


@dataclass(frozen=True, slots=True)
class QueuePage:
    """The parts of the queue, and a page of the pods in them."""

    queues: Sequence[QueueSize]
    summary: str
    page: NumberedPage[QueueRow]
    #: pods that the filters select
    pods: int
    #: whether pods that wait for the same are one row
    grouped: bool
    filters: Sequence[Field]
    sorting: Sorting[Sort]
    cycles: Cycles
    #: pending pods whose schedulerName no profile has; they are in no queue
    of_others: int

    @property
    def listed(self) -> Sequence[QueuedPod]:
        """The pods of the page, whether they share a row or not."""
        return [pod for row in self.page.rows for pod in row.alike.rows]

    @property
    def is_shorter(self) -> bool:
        return len(self.listed) > len(self.page.rows)


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """A page of moves, and the filters of the list."""

    page: LogPage[QueueMove]
    filters: Sequence[Field]
    #: (label, address) of each file format in which these moves can be downloaded.
    files: Sequence[tuple[str, str]] = ()
    #: The parameter that is invalid, and why.
    problem: str = ""
    period: Period = Period()
    #: Where there are moves, if there are none in the period.
    elsewhere: Elsewhere | None = None


def queue_page(cluster: Cluster, query: Mapping[str, Any]) -> QueuePage:
    """The queue, filtered and sorted as the address says; the nearest page that exists."""
    sorting = read_sorting(query, {name: name for name in SORTS}, default="place")
    values = {name: str(query.get(name, "")).strip() for name in ("queue", "pod", "plugin")}
    wanted = QueueFilter(**{name: value.replace("\x00", "") for name, value in values.items()})
    sizes = listing.count_by_part(cluster)
    filters = [
        Field("pod", "Pod", hint="contains"),
        Field("queue", "Queue", choices=[(each.value, each.label) for each in sizes]),
        Field(
            "plugin",
            "Gated, held or rejected by",
            hint="whole name",
            suggestions=plugin_names(),
        ),
    ]
    refuse_unknown(query, filters, ["group", *MOMENTS])
    total = listing.count_pods(cluster, wanted, sizes)
    grouped = query.get("group") != "none"
    whole = grouped and total <= _GROUPED
    size = _GROUPED if whole else page_size(query)
    pages = max(1, -(-total // size))
    number = 1 if whole else min(max(1, parse_whole_number(query, "page") or 1), pages)
    start = (number - 1) * size
    pods = listing.list_pods(
        cluster,
        wanted,
        sort=sorting.key,
        descending=sorting.descending,
        limit=size,
        offset=start,
    )
    says = _waits_for if grouped else lambda pod: pod.uid
    rows = [QueueRow(alike) for alike in group_alike(pods, says)]
    page = (
        numbered_page(rows, query)
        if whole
        else NumberedPage(
            rows, number, pages, total, start + 1 if pods else 0, start + len(pods), size
        )
    )
    return QueuePage(
        [QueueSize(each, count, each.value == wanted.queue) for each, count in sizes.items()],
        listing.summarize(sizes),
        page,
        total,
        grouped,
        filters,
        sorting,
        listing.read_cycles(cluster),
        list_pods_of_other_schedulers(cluster).count(),
    )


def history_page(cluster: Cluster, query: Mapping[str, Any]) -> HistoryPage:
    """Moves, newest first, as the address selects; none, with a problem, if a filter is invalid."""
    filters = [
        Field("pod", "Pod", hint="contains"),
        Field("event", "Event", hint="whole name", suggestions=_EVENTS),
        Field("plugin", "Decided by", hint="whole name", suggestions=plugin_names()),
        PERIOD,
    ]
    try:
        refuse_unknown(query, filters, history.PARAMETERS)
        rows = history.find_moves(cluster, query)
        period = parse_period(query, now=cluster.now())
    except BadRequest as error:
        nothing = log_page(QueueMove.objects.none(), query)
        return HistoryPage(nothing, filters, problem=describe_problem(error, filters))
    files = list_files(cluster, "api-export-queue-history", history.PARAMETERS, query, period)
    page = log_page(rows, query)
    elsewhere = None
    if not page.rows:
        elsewhere = look_elsewhere(
            query, period, lambda rest: _newest(cluster, rest), now=cluster.now()
        )
    return HistoryPage(page, filters, files, period=period, elsewhere=elsewhere)


def _newest(cluster: Cluster, query: Mapping[str, Any]) -> datetime | None:
    """The time of the newest move that these parameters select."""
    return history.find_moves(cluster, query).values_list("at", flat=True).first()


#: Suggestions for the filter; it accepts every event.
_EVENTS = sorted(
    {
        events.BACKOFF_COMPLETE,
        events.CONFIGURATION_CHANGE,
        events.DONE,
        events.FORCE_ACTIVATE,
        events.MANUAL_ACTIVATE,
        events.POP,
        events.POP_FROM_BACKOFF_QUEUE,
        events.SCHEDULE_ATTEMPT_FAILURE,
        events.UNSCHEDULABLE_TIMEOUT,
        events.EVENT_ASSIGNED_POD_ADD.label,
        events.EVENT_ASSIGNED_POD_DELETE.label,
        events.EVENT_NODE_ADD.label,
        events.EVENT_UNSCHEDULED_POD_ADD.label,
        events.EVENT_UNSCHEDULED_POD_UPDATE.label,
    }
)
