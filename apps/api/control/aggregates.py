"""Decisions in groups: by pod, workload, plugin, reason, node, profile, time."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.answers import answer
from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.decisions import FILTERS, DecisionViewSet, find_cluster
from apps.api.control.documentation.areas import Area
from apps.api.control.paging import PAGING, PageLinks, page_parameters, read_page
from apps.api.control.recorded import recorded_cluster
from apps.api.control.serializers import ErrorSerializer
from apps.cluster import limits
from apps.cluster.access.reach import reach_of
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.engine.exported_files import format_cell
from apps.engine.ledger import aggregating, finding, grouping
from apps.engine.ledger.aggregating import Group
from apps.engine.ledger.finding import DecisionFilters
from apps.engine.ledger.grouping import Dimension
from apps.engine.periods import parse_zone

_TOTALS = ("total", "decisions", "pods", "oldest", "is_limited")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group(aggregating.Measures):
    """Decisions with the same keys. Durations are in µs."""

    #: the value of each dimension of `group`
    keys: Mapping[str, str]
    #: the parameters that select these decisions, besides those of the request
    filters: Mapping[str, str]

    ANSWER: ClassVar = ("keys", *aggregating.MEASURES, "filters")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Aggregation(PageLinks):
    """A page of groups, and the totals of all of them."""

    groups: Sequence[_Group]
    #: number of groups on all pages
    total: int
    #: number of decisions that were aggregated
    decisions: int
    pods: int
    #: time of the oldest decision that was aggregated
    oldest: datetime | None
    #: only the newest 50,000 of the selected decisions were aggregated
    is_limited: bool


class CsvRenderer(BaseRenderer):
    """The groups as lines: a column for each dimension, then the measures."""

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"

    def render(self, data: Any, media_type: Any = None, context: Any = None) -> bytes:
        if "groups" not in data:
            return bytes(JSONRenderer().render(data))
        dimensions: Sequence[str] = context["view"].dimensions
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow([*dimensions, *aggregating.MEASURES])
        for group in data["groups"]:
            keys = [format_cell(group["keys"][name]) for name in dimensions]
            values = [format_cell(group[name]) for name in aggregating.MEASURES]
            writer.writerow([*keys, *values])
        return text.getvalue().encode()


_QUERY = [
    OpenApiParameter(
        "group",
        str,
        required=True,
        description=(
            f"What to group by, at most {grouping.MAX_DIMENSIONS} of them, separated by commas: "
            f"{', '.join(grouping.BY_NAME)}."
        ),
    ),
    OpenApiParameter(
        "sort",
        str,
        description=(
            f"{', '.join(aggregating.SORT_KEYS)}; descending with a minus in front. By default "
            "the groups with most decisions come first, hours and days newest first, single "
            "attempts slowest first."
        ),
    ),
    *page_parameters(highest=limits.GROUPS.highest),
    OpenApiParameter("format", str, enum=["json", "csv"], default="json"),
    *FILTERS,
]


@extend_schema(
    parameters=_QUERY,
    responses={
        (200, "application/json"): _Aggregation,
        (200, "text/csv"): OpenApiTypes.STR,
        400: ErrorSerializer,
        404: ErrorSerializer,
        504: ErrorSerializer,
    },
)
class DecisionAggregateView(ControlView):
    """Decisions of all clusters in groups; `cluster` or `cluster_id` selects one."""

    area = Area.DECISIONS
    renderer_classes = [JSONRenderer, CsvRenderer]
    parameters = frozenset({"group", "sort", "format", *PAGING, *DecisionViewSet.parameters})
    #: the dimensions of the request, for CSV
    dimensions: Sequence[str] = ()

    def get(self, request: Request, **names: Any) -> Response:
        """Group decisions.

        How many decisions and pods each group has, when, and how long the attempts took.
        """
        reject_unknown(request, self.parameters)
        query = request.query_params
        by = grouping.parse_grouping(query.get("group", ""))
        if not by:
            raise BadRequest(f"group: required; one of {', '.join(grouping.BY_NAME)}")
        self.dimensions = [dimension.name for dimension in by]
        cluster = self.find_cluster(request, **names)
        filters = finding.parse(query, now=cluster.now() if cluster else None)
        zone = query.get("zone", "")
        page = read_page(request, highest=limits.GROUPS.highest)
        with timezone.override(parse_zone(zone) if zone else UTC):
            aggregation = aggregating.aggregate(
                filters,
                by,
                cluster_id=cluster.pk if cluster else None,
                reach=reach_of(request.user),
                sorting=aggregating.parse_sorting(query.get("sort", ""), by),
                limit=page.size,
                offset=page.start,
            )
            groups = [_read_group(group, by, filters) for group in aggregation.groups]
        totals = {name: getattr(aggregation, name) for name in _TOTALS}
        links = page.link(aggregation.total)
        return answer(_Aggregation(groups=groups, **totals, **links))

    def find_cluster(self, request: Request) -> Cluster | None:
        return find_cluster(request)

    def finalize_response(
        self, request: Request, response: Any, *args: Any, **kwargs: Any
    ) -> Response:
        done: Any = super().finalize_response(request, response, *args, **kwargs)
        if getattr(request, "accepted_renderer", None) and done.status_code == 200:
            if request.accepted_renderer.format == "csv":
                done["Content-Disposition"] = 'attachment; filename="decision-groups.csv"'
        elif done.status_code != 200:
            done.content_type = "application/json"
        return done  # type: ignore[no-any-return]


@extend_schema(summary="Group the decisions of a cluster")
class ClusterDecisionAggregateView(DecisionAggregateView):
    """Decisions of one cluster, which may be deleted, in groups."""

    def find_cluster(self, request: Request, **names: Any) -> Cluster:
        return recorded_cluster(names)


def _read_group(group: Group, by: Sequence[Dimension], present: DecisionFilters) -> _Group:
    shown = [dimension.show(key) for dimension, key in zip(by, group.keys, strict=True)]
    return _Group(
        keys=dict(zip((dimension.name for dimension in by), shown, strict=True)),
        filters=grouping.select_group(group.keys, by, present),
        **{name: getattr(group, name) for name in aggregating.MEASURES},
    )
