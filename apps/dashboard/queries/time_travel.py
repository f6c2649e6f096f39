"""The page of a cluster at a past moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlencode

from apps.administration.clusters.summaries import Use
from apps.cluster.models import Cluster
from apps.dashboard.paging import NumberedPage, numbered_page
from apps.dashboard.queries.usage import UsedNode
from apps.engine.periods import format_utc
from apps.studies.past import listing
from apps.studies.past.overview import PastOverview, read_overview
from apps.studies.past.past_version import (
    Life,
    PastVersion,
    parse_past_version,
    parse_version_or_time,
)
from apps.studies.past.snapshot_differences import (
    NodeDifference,
    PodDifference,
    find_node_differences,
    find_pod_differences,
)
from apps.studies.past.snapshots import snapshots
from apps.studies.past.versions import NodeVersion, PodVersion

NODES: Final = "nodes"
PODS: Final = "pods"
DIFFERENCES: Final = "differences"
#: How long before and after a moment the linked decisions are.
_AROUND: Final = timedelta(minutes=1)
#: Nodes that differ are few, or all of a cluster that was just created.
MAX_NODES: Final = 100


@dataclass(frozen=True, slots=True)
class PastNode(UsedNode):
    """A node of a past moment."""

    node: NodeVersion

    @property
    def state(self) -> str:
        if not self.node.ready:
            return "not-ready"
        return "cordoned" if self.node.unschedulable else "ready"

    def use(self, resource: str) -> Use:
        amounts = (self.node.requested, self.node.allocatable)
        return Use(*(each.get(resource, 0) for each in amounts))


@dataclass(frozen=True, slots=True)
class Differences:
    """What differs between two moments, the earlier one first."""

    before: PastVersion
    after: PastVersion
    pods: Mapping[str, int]
    nodes: Sequence[NodeDifference]
    total_nodes: int

    @property
    def total_pods(self) -> int:
        return sum(self.pods.values())


@dataclass(frozen=True, slots=True)
class TimeTravelPage:
    """A cluster at a moment, and one table of it."""

    overview: PastOverview
    show: str
    page: NumberedPage[Any]
    #: the name of the filter beside `q`, and its choices
    choice: str
    choices: Sequence[str]
    differences: Differences | None
    #: the parameters of the list of decisions around the moment
    around: str

    @property
    def moment(self) -> PastVersion:
        return self.overview.moment

    @property
    def life(self) -> Life:
        return self.overview.life

    @property
    def previous(self) -> int:
        """The version before; it exists unless this is the first one."""
        return self.moment.version - 1

    @property
    def next(self) -> int:
        """The version after; it exists unless this is the present one."""
        return self.moment.version + 1

    @property
    def waiting(self) -> int:
        """Pods in any part of the queue."""
        return sum(self.overview.queue.values())

    @property
    def queue_words(self) -> str:
        """The parts of the queue that have pods."""
        sizes = self.overview.queue.items()
        return ", ".join(f"{size:,} {part.label}" for part, size in sizes if size)

    @property
    def tabs(self) -> list[tuple[str, str, int]]:
        """(value of `show`, label, number of rows) of each table."""
        tabs = [
            (NODES, "Nodes", self.overview.nodes.total),
            (PODS, "Pods", self.overview.pods.total),
        ]
        if self.differences is not None:
            total = self.differences.total_pods + self.differences.total_nodes
            tabs.append((DIFFERENCES, "Differences", total))
        return tabs

    @property
    def cpu(self) -> Use:
        return self._use("cpu")

    @property
    def memory(self) -> Use:
        return self._use("memory")

    def _use(self, resource: str) -> Use:
        usage = next(each for each in self.overview.usage if each.resource == resource)
        return Use(usage.requested, usage.allocatable)


def time_travel_page(cluster: Cluster, query: Mapping[str, Any]) -> TimeTravelPage:
    """The cluster at the moment of the address, by default now; a time prevails over the slider.

    Raises the errors of `parse_past_version`, `parse_version_or_time` and of the filters.
    """
    given = {name: str(query.get(name) or "").strip() for name in ("at", "version", "decision")}
    if given["at"]:
        given |= {"version": "", "decision": ""}
    moment = parse_past_version(cluster, given)
    overview = read_overview(cluster, moment)
    other = parse_version_or_time(cluster, query, "with") if query.get("with", "").strip() else None
    pods, differences = _compare(cluster, overview, other) if other is not None else ([], None)
    show = str(query.get("show", ""))
    if show not in (NODES, PODS, DIFFERENCES) or (show == DIFFERENCES and other is None):
        show = DIFFERENCES if other is not None and not show else NODES
    page, choice, choices = _read_table(overview, show, pods, query)
    period = {"since": moment.at - _AROUND, "until": moment.at + _AROUND}
    around = urlencode({name: format_utc(at) for name, at in period.items()})
    return TimeTravelPage(overview, show, page, choice, choices, differences, around)


def _read_table(
    overview: PastOverview, show: str, differences: list[PodDifference], query: Mapping[str, Any]
) -> tuple[NumberedPage[Any], str, Sequence[str]]:
    """The page of the table, the name of its filter, and the filter's choices."""
    if show == NODES:
        page = numbered_page(listing.list_nodes(overview.snapshot, query), query)
        nodes = listing.add_requests(overview.snapshot, page.rows)
        return page.showing([PastNode(node) for node in nodes]), "state", listing.NODE_STATES
    if show == PODS:
        pods: list[PodVersion] = listing.list_pods(overview.snapshot, query)
        return numbered_page(pods, query), "state", listing.POD_STATES
    selected = listing.select_pod_differences(differences, query)
    return numbered_page(selected, query), "change", listing.POD_CHANGES


def _compare(
    cluster: Cluster, overview: PastOverview, other: PastVersion
) -> tuple[list[PodDifference], Differences]:
    before, after = sorted((overview.moment, other), key=lambda moment: moment.version)
    first, second = (
        overview.snapshot if each is overview.moment else snapshots.at(cluster, each.version)
        for each in (before, after)
    )
    pods = find_pod_differences(first, second)
    nodes = find_node_differences(first, second)
    counts = Counter(each.change.value for each in pods)
    ordered = {change: counts[change] for change in listing.POD_CHANGES if counts[change]}
    return pods, Differences(before, after, ordered, nodes[:MAX_NODES], len(nodes))
