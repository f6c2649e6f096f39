"""Exports of decisions as streamed files."""

from __future__ import annotations

from typing import Any

import msgspec
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.base import ControlView, parse_whole_number, reject_unknown
from apps.api.control.decisions import FILTERS, DecisionViewSet, find_cluster_id
from apps.api.control.documentation.areas import Area
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.queries import cluster_named
from apps.controlplane.history import past_clusters
from apps.controlplane.ledger import export, finding

_MAX_LIMIT = 10**9


class _FileRenderer(BaseRenderer):
    """Negotiates the format by `?format=` and Accept; it renders only errors."""

    charset = None

    def render(self, data: Any, media_type: Any = None, context: Any = None) -> bytes:
        return msgspec.json.encode(data)


def _create_renderer(name: str) -> type[_FileRenderer]:
    known = export.FORMATS[name]
    fields = {"format": known.name, "media_type": known.media_type}
    return type(f"{name.title()}Renderer", (_FileRenderer,), fields)


_QUERY = [
    OpenApiParameter("format", str, enum=list(export.FORMATS), default="csv"),
    OpenApiParameter("limit", int, description="Maximum number of decisions; the newest ones."),
    *FILTERS,
]
_FILES = {
    (200, each.media_type): OpenApiTypes.BINARY if name == "parquet" else OpenApiTypes.STR
    for name, each in export.FORMATS.items()
}
_REFUSALS = {400: ErrorSerializer, 404: ErrorSerializer, 501: ErrorSerializer}


@extend_schema(parameters=_QUERY, responses={**_FILES, **_REFUSALS})
class DecisionExportView(ControlView):
    """Decisions of all clusters, newest first; `cluster` or `cluster_id` selects one."""

    area = Area.DECISIONS
    renderer_classes = [_create_renderer(name) for name in export.FORMATS]
    parameters = frozenset({"format", "limit", *DecisionViewSet.parameters})

    def get(self, request: Request, **names: Any) -> StreamingHttpResponse:
        """Export decisions.

        A file with a row for each decision that the filters select, newest first.
        """
        reject_unknown(request, self.parameters)
        chosen = export.FORMATS[request.accepted_renderer.format]
        limit = parse_whole_number(request, "limit", 0, highest=_MAX_LIMIT) or None
        found = export.batches(
            finding.parse(request.query_params),
            cluster_id=self.cluster_id(request, **names),
            limit=limit,
        )
        response = StreamingHttpResponse(chosen.write(found), content_type=chosen.media_type)
        response["Content-Disposition"] = f'attachment; filename="decisions.{chosen.name}"'
        return response

    def cluster_id(self, request: Request) -> int | None:
        return find_cluster_id(request)

    def handle_exception(self, exc: Exception) -> Response:
        response = super().handle_exception(exc)
        response.content_type = "application/json"
        return response


@extend_schema(summary="Export the decisions of a cluster")
class ClusterDecisionExportView(DecisionExportView):
    """Decisions of one cluster."""

    def cluster_id(self, request: Request, cluster: str = "") -> int:
        return cluster_named(cluster).pk


@extend_schema(summary="Export the decisions of a deleted cluster")
class PastDecisionExportView(DecisionExportView):
    """Decisions of a deleted cluster."""

    def cluster_id(self, request: Request, cluster_id: int = 0) -> int:
        return past_clusters.get_past_cluster(cluster_id).pk
