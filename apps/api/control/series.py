"""The figures of a cluster over time, as JSON or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.answers import answer
from apps.api.control.base import reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.recorded import FileErrors
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.errors import BadRequest
from apps.cluster.queries import cluster_named
from apps.engine.exported_files import format_cell
from apps.engine.series.catalog import SCOPES, Scope
from apps.engine.series.reading import DrawnChart, Series, read_series, table_rows
from apps.engine.series.spans import DEFAULT, parse_span

_PARAMETERS = ("scope", "name", "chart", "since", "until", "zone", "step", "format")


class _CsvRenderer(BaseRenderer):
    """Renders the rows of a table."""

    format = "csv"
    media_type = "text/csv"
    charset = "utf-8"

    def render(self, data: Any, media_type: Any = None, context: Any = None) -> bytes:
        if not isinstance(data, list):
            return JSONRenderer().render(data)
        text = io.StringIO()
        rows = ([format_cell(cell) for cell in row] for row in data)
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue().encode()


class _Line(NamedTuple):
    name: str
    #: whether the line is an edge of the range over all nodes
    edge: bool
    #: one for each of `times`; None where nothing is known
    values: Sequence[float | None]


class _Chart(NamedTuple):
    id: str
    title: str
    #: pods, nodes, per second, per minute, seconds, share (0 to 1), cpu (milli-CPU), memory
    #: (bytes), yes or no (1 or 0)
    unit: str
    help: str
    lines: Sequence[_Line]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    scope: Scope
    name: str
    since: datetime
    until: datetime
    #: the time of the cluster's clock
    now: datetime
    #: seconds between two of `times`
    step: int
    #: whether anything was recorded in this span
    known: bool
    #: the start of each step, in seconds since 1970-01-01 UTC
    times: Sequence[int]
    charts: Sequence[_Chart]


class SeriesView(FileErrors):
    """Charts over time."""

    area = Area.SERIES
    renderer_classes = [JSONRenderer, _CsvRenderer]

    @extend_schema(
        parameters=[
            OpenApiParameter("scope", str, enum=SCOPES, default="cluster"),
            OpenApiParameter("name", str, description="Name of the namespace, profile or node."),
            OpenApiParameter("chart", str, description="The id of one chart; default: all."),
            OpenApiParameter(
                "since",
                str,
                default=DEFAULT,
                description="A time, or a span before now such as `15m`, `6h`, `30d`, `1y`.",
            ),
            OpenApiParameter("until", str, description="The same; default: now."),
            OpenApiParameter("zone", str, description="Of times without an offset; default: UTC."),
            OpenApiParameter(
                "step",
                int,
                description="A retained resolution in seconds; default: the finest that has "
                "few enough points.",
            ),
            OpenApiParameter("format", str, enum=["json", "csv"], default="json"),
        ],
        responses={
            (200, "application/json"): _Series,
            (200, "text/csv"): OpenApiTypes.STR,
            400: ErrorSerializer,
            404: ErrorSerializer,
        },
    )
    def get(self, request: Request, cluster: str) -> Response:
        """Read figures over time.

        The figures of a cluster, or of one of its namespaces, profiles or nodes.

        Times are those of the cluster's clock.
        """
        reject_unknown(request, _PARAMETERS)
        query = request.query_params
        if any("\x00" in value for value in query.values()):
            raise BadRequest("a parameter holds a NUL character")
        target = cluster_named(cluster)
        series = read_series(
            target,
            parse_span(target, query.dict()),
            scope=query.get("scope") or "cluster",
            name=query.get("name", ""),
            chart=query.get("chart", ""),
        )
        if request.accepted_renderer.format == "csv":
            name = "-".join(filter(None, (target.name, series.name, "series")))
            header = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
            return Response(list(table_rows(series)), headers=header)
        response = answer(_read(series, target.now()))
        response["Cache-Control"] = "no-store"
        return response


def _read(series: Series, now: datetime) -> _Series:
    span = series.span
    return _Series(
        scope=series.scope,
        name=series.name,
        since=span.since,
        until=span.until,
        now=now,
        step=span.resolution.step,
        known=series.known,
        times=span.starts,
        charts=[_read_chart(each) for each in series.charts],
    )


def _read_chart(drawn: DrawnChart) -> _Chart:
    chart = drawn.chart
    lines = [
        _Line(each.line.label, each.line.edge, [_round(value) for value in each.values])
        for each in drawn.series
    ]
    return _Chart(chart.id, chart.title, chart.unit, chart.help, lines)


def _round(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
