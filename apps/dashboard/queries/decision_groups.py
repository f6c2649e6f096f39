"""The page of decisions in groups, and the views of it that are ready to use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.timezone import get_current_timezone_name

from apps.cluster import limits
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.dashboard.downloads import list_files
from apps.dashboard.paging import NumberedPage, page_size, parse_whole_number
from apps.dashboard.tables import Field, Sorting
from apps.engine.ledger import aggregating, finding, grouping
from apps.engine.ledger.aggregating import Aggregation, Group
from apps.engine.ledger.finding import DecisionFilters
from apps.engine.ledger.grouping import Dimension
from apps.engine.models import SchedulingDecision
from apps.engine.periods import Period

#: The parameters of the grouping; `then` is the second dimension.
GROUP, THEN = "group", "then"
#: Parameters of the page that the API does not know, or has by another name.
_OF_PAGE = frozenset({GROUP, THEN, "page", "size", "sort", "before", "after", "view"})


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group, the text of its keys, and the address of its decisions."""

    group: Group
    texts: Sequence[tuple[Dimension, str]]
    address: str
    #: the row of a group that is a single attempt
    decision: SchedulingDecision | None = None


@dataclass(frozen=True, slots=True)
class GroupList:
    """A page of groups."""

    page: NumberedPage[GroupRow]
    grouping: Sequence[Dimension]
    sorting: Sorting[str]
    aggregation: Aggregation
    #: (label, address) of each file format
    files: Sequence[tuple[str, str]]

    @property
    def is_single(self) -> bool:
        """Whether each group is a single attempt."""
        return _is_single(self.grouping)


@dataclass(frozen=True, slots=True)
class ReadyView:
    """A question that a combination of filters and grouping answers."""

    label: str
    address: str
    is_current: bool


def group_fields() -> list[Field]:
    """The fields of the filter form that group the decisions."""
    choices = [(each.name, each.label.lower()) for each in grouping.DIMENSIONS]
    return [
        Field(GROUP, "Group by", choices=choices, nothing="nothing"),
        Field(THEN, "then by", choices=choices[:-1], nothing="nothing"),
    ]


def parse_page_grouping(query: Mapping[str, Any]) -> tuple[Dimension, ...]:
    """The dimensions of the address; empty for rows. BadRequest for an invalid combination."""
    first, second = str(query.get(GROUP, "")), str(query.get(THEN, ""))
    return grouping.parse_grouping(f"{first},{second}" if first != second else first)


def group_list(
    cluster: Cluster,
    filters: DecisionFilters,
    by: Sequence[Dimension],
    query: Mapping[str, Any],
) -> GroupList:
    """The page of groups that the address names; ApiError when it is invalid or takes too long."""
    name, descending = _read_sorting(query, by)
    size = page_size(query)
    number = max(parse_whole_number(query, "page") or 1, 1)
    aggregation = aggregating.aggregate(
        filters,
        by,
        cluster_id=cluster.pk,
        sorting=(name, descending),
        limit=size,
        offset=min((number - 1) * size, limits.GROUPS.highest),
    )
    rows = _rows(cluster, aggregation, by, filters, query)
    files = _list_files(cluster, by, query, Period(filters.since, filters.until))
    start = (number - 1) * size
    page = NumberedPage(
        rows,
        number,
        max(1, -(-min(aggregation.total, limits.GROUPS.highest) // size)),
        aggregation.total,
        start + 1 if rows else 0,
        start + len(rows),
        size,
    )
    return GroupList(page, by, Sorting(name, descending, name), aggregation, files)


def ready_views(cluster: Cluster, query: Mapping[str, Any]) -> list[ReadyView]:
    """The views that answer what people ask most, as links."""
    today = {"since": "today"}
    failed = {"result": "unschedulable"}
    views: list[tuple[str, dict[str, str]]] = [
        ("Pods rejected today", {GROUP: "pod", **failed, **today}),
        (
            "Pods rejected mainly by taints today",
            {GROUP: "pod", "main_plugin": "TaintToleration", **failed, **today},
        ),
        ("Top reasons", {GROUP: "main_reason", **failed}),
        ("Top rejecting plugins", {GROUP: "main_plugin", **failed}),
        ("Slowest attempts", {GROUP: "decision", "sort": "-max_us"}),
        ("Most retried pods", {GROUP: "pod", "min_attempt": "2", "sort": "-max_attempt"}),
        ("Unschedulable workloads", {GROUP: "workload", **failed}),
        ("Results by hour", {GROUP: "hour", THEN: "result"}),
        ("Busiest nodes", {GROUP: "node"}),
        ("Decisions with victims", {"victim": "*"}),
    ]
    present = {name: value for name, value in query.items() if value}
    address = reverse("decisions", args=[cluster.name])
    return [
        ReadyView(label, f"{address}?{urlencode(wanted)}", present == wanted)
        for label, wanted in views
    ]


def _read_sorting(query: Mapping[str, Any], by: Sequence[Dimension]) -> tuple[str, bool]:
    """The sorting of the address; the default one if it is for another table."""
    try:
        return aggregating.parse_sorting(str(query.get("sort", "")), by)
    except BadRequest:
        return aggregating.parse_sorting("", by)


def _rows(
    cluster: Cluster,
    aggregation: Aggregation,
    by: Sequence[Dimension],
    filters: DecisionFilters,
    query: Mapping[str, Any],
) -> list[GroupRow]:
    present = {name: value for name, value in query.items() if value and name not in _OF_PAGE}
    single = [each.name for each in by].index("decision") if _is_single(by) else None
    decisions = aggregating.list_decisions(
        [group.keys[single][0] for group in aggregation.groups] if single is not None else []
    )
    rows = []
    for group in aggregation.groups:
        texts = [(each, each.show(key)) for each, key in zip(by, group.keys, strict=True)]
        number = group.keys[single][0] if single is not None else None
        rows.append(
            GroupRow(
                group,
                texts,
                _address(cluster, {**present, **grouping.select_group(group.keys, by, filters)}),
                decisions.get(number) if number is not None else None,
            )
        )
    return rows


def _is_single(by: Sequence[Dimension]) -> bool:
    return any(each.name == "decision" for each in by)


def _address(cluster: Cluster, query: Mapping[str, str]) -> str:
    return f"{reverse('decisions', args=[cluster.name])}?{urlencode(query)}"


def _list_files(
    cluster: Cluster, by: Sequence[Dimension], query: Mapping[str, Any], period: Period
) -> list[tuple[str, str]]:
    """(label, address) of the API's answers with all groups; hours and days are the viewer's."""
    names = [*(each.name for each in finding.PARAMETERS), "sort"]
    fixed = {
        "group": ",".join(each.name for each in by),
        "page_size": str(limits.GROUPS.highest),
        "zone": get_current_timezone_name(),
    }
    route = "api-aggregate-cluster-decisions"
    return list_files(cluster, route, names, query, period, formats=("csv", "json"), fixed=fixed)
