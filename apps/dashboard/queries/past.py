"""Pages of the past: the queue at a moment, the state around a decision, deleted clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from apps.administration.clusters.summaries import Use
from apps.cluster.access.reach import reach_of
from apps.cluster.models import Cluster
from apps.dashboard.paging import NumberedPage, numbered_page, page_size, parse_whole_number
from apps.dashboard.queries.usage import UsedNode
from apps.dashboard.tables import Field, refuse_unknown
from apps.engine import queries
from apps.engine.ledger.reading import read
from apps.engine.models import PastCluster, SchedulingDecision
from apps.engine.queue.past import MOMENTS, PARTS, PastMoment, PastPod, PastQueue, read_past_queue
from apps.studies.explanations.around import NodeThen, PodThen, StateAround, read_state_around
from apps.studies.history import past_clusters
from apps.studies.past.past_version import find_beginning

#: Pending pods that the page of a state lists; it links to the queue for all of them.
MAX_PENDING = 50
OUTCOMES = ("chosen", "feasible", "rejected", "not evaluated")


@dataclass(frozen=True, slots=True)
class PastQueuePage:
    """The queue at a moment, and a page of the pods in it."""

    queue: PastQueue
    page: NumberedPage[PastPod]
    filters: Sequence[Field]
    #: (part, label, number of pods, whether the table shows only this part)
    parts: Sequence[tuple[str, str, int, bool]]
    #: When the cluster got its first object, if the moment is before it.
    beginning: datetime | None


@dataclass(frozen=True, slots=True)
class NodeAround(UsedNode):
    """A node with its usage at the decision."""

    node: NodeThen

    @property
    def others(self) -> list[tuple[str, Use]]:
        """Other resources that are requested or allocatable."""
        listed = ("cpu", "memory", "pods")
        amounts = self.node.amounts.items()
        return [(name, Use(*pair)) for name, pair in amounts if name not in listed and any(pair)]

    def use(self, resource: str) -> Use:
        return Use(*self.node.amounts.get(resource, (0, 0)))


@dataclass(frozen=True, slots=True)
class StatePage:
    """The state around a decision; `selected` is the node whose pods are listed."""

    row: SchedulingDecision
    state: StateAround
    page: NumberedPage[NodeAround]
    filters: Sequence[Field]
    selected: NodeAround | None
    pending: Sequence[PodThen]


def past_queue_page(
    cluster: Cluster, moment: PastMoment, query: Mapping[str, Any]
) -> PastQueuePage:
    """The queue at a moment, filtered as the address says; the nearest page that exists."""
    values = {name: str(query.get(name, "")).strip() for name in ("queue", "pod")}
    filters = [
        Field("pod", "Pod", hint="contains"),
        Field("queue", "Queue", choices=[(part.value, part.label) for part in PARTS]),
    ]
    refuse_unknown(query, filters, [*MOMENTS, "zone", "group"])
    size = page_size(query)
    number = max(1, parse_whole_number(query, "page") or 1)
    queue = read_past_queue(cluster, moment, **values, limit=size, offset=(number - 1) * size)
    pages = max(1, -(-queue.total // size))
    if number > pages:
        number = pages
        queue = read_past_queue(cluster, moment, **values, limit=size, offset=(number - 1) * size)
    first = (number - 1) * size + 1 if queue.pods else 0
    last = first + len(queue.pods) - 1 if queue.pods else 0
    page = NumberedPage(queue.pods, number, pages, queue.total, first, last, size)
    parts = [
        (part.value, part.label, count, part.value == values["queue"])
        for part, count in queue.sizes.items()
    ]
    beginning = None if any(queue.sizes.values()) else find_beginning(cluster, moment.at)
    return PastQueuePage(queue, page, filters, parts, beginning)


def state_page(cluster: Cluster, number: int, query: Mapping[str, Any]) -> StatePage:
    """The state around a decision, its nodes filtered as the address says; NotFound if none."""
    filters = [
        Field("q", "Node", hint="contains"),
        Field("outcome", "Outcome", choices=OUTCOMES),
    ]
    refuse_unknown(query, filters, ["pods_of"])
    row = queries.decision_numbered(number, cluster)
    shown = str(query.get("pods_of", ""))
    state = read_state_around(row, read(row).decision, pods_of=(shown,))
    text, outcome = (str(query.get(name, "")).strip() for name in ("q", "outcome"))
    nodes = [node for node in state.nodes if text in node.name and outcome in ("", node.outcome)]
    chosen_first = sorted(nodes, key=lambda node: (OUTCOMES.index(node.outcome), node.name))
    page = numbered_page(chosen_first, query)
    selected = next((each for each in state.nodes if each.name == shown), None)
    return StatePage(
        row,
        state,
        page.showing([NodeAround(node) for node in page.rows]),
        filters,
        NodeAround(selected) if selected is not None else None,
        state.pending[:MAX_PENDING],
    )


def deleted_clusters(
    query: Mapping[str, Any], user: User
) -> NumberedPage[tuple[PastCluster, Cluster]]:
    """A page of the deleted clusters with history, each with the cluster as pages read it."""
    page = numbered_page(past_clusters.list_past_clusters(reach_of(user)), query)
    return page.showing([(past, past_clusters.cluster_of(past)) for past in page.rows])
