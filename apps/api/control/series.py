"""The figures of a cluster over time, as JSON or CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.base import reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.recorded import FileErrors
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.errors import BadRequest
from apps.cluster.queries import cluster_named
from apps.engine.files import format_cell
from apps.engine.series.catalog import SCOPES
from apps.engine.series.reading import Series, read_series, table_rows
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


class LineSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    edge = serializers.BooleanField(
        help_text="Whether the line is an edge of the range over all nodes."
    )
    values = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        help_text="One for each of `times`; null where nothing is known.",
    )


class ChartSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    title = serializers.CharField()
    unit = serializers.CharField(
        help_text="pods, nodes, per second, per minute, seconds, share (0 to 1), cpu "
        "(milli-CPU), memory (bytes), yes or no (1 or 0)."
    )
    help = serializers.CharField()
    lines = LineSerializer(many=True)


class SeriesSerializer(serializers.Serializer[Any]):
    scope = serializers.ChoiceField(choices=SCOPES)
    name = serializers.CharField()
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    now = serializers.DateTimeField(help_text="The time of the cluster's clock.")
    step = serializers.IntegerField(help_text="Seconds between two of `times`.")
    known = serializers.BooleanField(help_text="Whether anything was recorded in this span.")
    times = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="The start of each step, in seconds since 1970-01-01 UTC.",
    )
    charts = ChartSerializer(many=True)


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
            (200, "application/json"): SeriesSerializer,
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
        found = cluster_named(cluster)
        series = read_series(
            found,
            parse_span(found, query.dict()),
            scope=query.get("scope") or "cluster",
            name=query.get("name", ""),
            chart=query.get("chart", ""),
        )
        if request.accepted_renderer.format == "csv":
            name = "-".join(filter(None, (found.name, series.name, "series")))
            header = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
            return Response(list(table_rows(series)), headers=header)
        response = Response(_describe(series, found.now()))
        response["Cache-Control"] = "no-store"
        return response


def _describe(series: Series, now: Any) -> dict[str, Any]:
    span = series.span
    return {
        "scope": series.scope,
        "name": series.name,
        "since": span.since,
        "until": span.until,
        "now": now,
        "step": span.resolution.step,
        "known": series.known,
        "times": list(span.starts),
        "charts": [
            {
                "id": drawn.chart.id,
                "title": drawn.chart.title,
                "unit": drawn.chart.unit,
                "help": drawn.chart.help,
                "lines": [
                    {
                        "name": each.line.label,
                        "edge": each.line.edge,
                        "values": [
                            None if value is None else float(f"{value:.6g}")
                            for value in each.values
                        ],
                    }
                    for each in drawn.series
                ],
            }
            for drawn in series.charts
        ],
    }
