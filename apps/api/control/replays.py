"""Replays of a span of a cluster's life."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.administration.operations import replays
from apps.api.control.answers import ResultField
from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.operations import OperationSerializer, get_actor
from apps.api.control.recorded import FileErrors, FileRenderer
from apps.api.control.request_shapes import ConfigurationRequestSerializer
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.errors import BadRequest
from apps.cluster.queries import cluster_named
from apps.studies.replay.plots import PLOTS, draw
from apps.studies.replay.report import TABLES, ReplayReport
from apps.studies.replay.span import ReplayRequest

#: Format of a file -> its media type; `csv` has the differences, as `differences.csv` does.
_FILES: Final = {**dict.fromkeys(("csv", *(f"{each}.csv" for each in TABLES)), "text/csv"), **PLOTS}


class NewReplaySerializer(ConfigurationRequestSerializer):
    since = serializers.CharField(
        required=False, help_text="A version or a time. Default: the first retained version."
    )
    until = serializers.CharField(required=False, help_text="A version or a time. Default: now.")
    zone = serializers.CharField(required=False, help_text="Of times without an offset.")
    seed = serializers.IntegerField(
        required=False,
        help_text="Selects again among equal nodes. Default: as recorded.",
    )


class ReplaySerializer(serializers.Serializer[Any]):
    operation = OperationSerializer()
    report = ResultField(ReplayReport, allow_null=True)


class ReplayListView(ControlView):
    """Replays of a cluster."""

    area = Area.LAB

    @extend_schema(responses={200: OperationSerializer(many=True), 404: ErrorSerializer})
    def get(self, request: Request, cluster: str) -> Response:
        """List replays.

        Their operations, newest first.
        """
        matches = replays.replays_of(cluster_named(cluster))[:100]
        return Response(OperationSerializer(matches, many=True).data)

    @extend_schema(
        request=NewReplaySerializer,
        responses={
            202: OperationSerializer,
            **dict.fromkeys((400, 404, 410, 422), ErrorSerializer),
        },
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Replay a span.

        Starts an operation that makes the decisions of the span again in memory, under another
        configuration, other feature gates or another seed, and reports what differs. Without any
        of them nothing differs.
        """
        wanted = NewReplaySerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        operation = replays.start_replay(
            cluster_named(cluster),
            ReplayRequest(**wanted.validated_data),
            actor=get_actor(request),
        )
        return Response(OperationSerializer(operation).data, status=status.HTTP_202_ACCEPTED)


class ReplayView(FileErrors):
    """One replay."""

    area = Area.LAB
    renderer_classes = [
        JSONRenderer,
        *(
            type("ReplayRenderer", (FileRenderer,), {"format": name, "media_type": media_type})
            for name, media_type in _FILES.items()
        ),
    ]
    path_help = {"number": "Id of the operation."}

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "format",
                str,
                enum=["json", *_FILES],
                default="json",
                description="A file: differences (`csv`), figures or series as CSV, or plots.",
            )
        ],
        responses={
            (200, "application/json"): ReplaySerializer,
            **dict.fromkeys(
                ((200, each) for each in ("text/csv", *PLOTS.values())), OpenApiTypes.BINARY
            ),
            **dict.fromkeys((400, 404, 501), ErrorSerializer),
        },
    )
    def get(self, request: Request, cluster: str, number: int) -> HttpResponse:
        """Read a replay.

        The progress of the operation and, when it has succeeded, its report.
        """
        reject_unknown(request, ("format",))
        operation, report = replays.get_replay(cluster_named(cluster), number)
        wanted = request.query_params.get("format", "json")
        if wanted == "json":
            return Response(ReplaySerializer({"operation": operation, "report": report}).data)
        if report is None:
            raise BadRequest(f"format: replay {number} has no report yet")
        if wanted in PLOTS:
            return _file(draw(report, wanted), PLOTS[wanted], f"replay-{number}.{wanted}")
        table = "differences" if wanted == "csv" else wanted.removesuffix(".csv")
        name = f"replay-{number}.csv" if wanted == "csv" else f"replay-{number}-{wanted}"
        return _file(TABLES[table](report), f"{_FILES[wanted]}; charset=utf-8", name)


def _file(content: str | bytes, media_type: str, name: str) -> HttpResponse:
    disposition = f'attachment; filename="{name}"'
    return HttpResponse(
        content, content_type=media_type, headers={"Content-Disposition": disposition}
    )
