"""Exports of decisions as streamed files."""

from __future__ import annotations

from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.base import ControlView, parse_whole_number, reject_unknown
from apps.api.control.decisions import FILTERS, DecisionViewSet, find_cluster
from apps.api.control.documentation.areas import Area
from apps.api.control.recorded import create_renderer, describe_files, recorded_cluster
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.access.reach import reach_of
from apps.cluster.models import Cluster
from apps.controlplane.ledger import export, finding

_MAX_LIMIT = 10**9


_QUERY = [
    OpenApiParameter("format", str, enum=list(export.FORMATS), default="csv"),
    OpenApiParameter("limit", int, description="Maximum number of decisions; the newest ones."),
    *FILTERS,
]
_REFUSALS = {400: ErrorSerializer, 404: ErrorSerializer, 501: ErrorSerializer}


@extend_schema(parameters=_QUERY, responses={**describe_files(export.FORMATS), **_REFUSALS})
class DecisionExportView(ControlView):
    """Decisions of all clusters, newest first; `cluster` or `cluster_id` selects one."""

    area = Area.DECISIONS
    renderer_classes = [create_renderer(each) for each in export.FORMATS.values()]
    parameters = frozenset({"format", "limit", *DecisionViewSet.parameters})

    def get(self, request: Request, **names: Any) -> StreamingHttpResponse:
        """Export decisions.

        A file with a row for each decision that the filters select, newest first.
        """
        reject_unknown(request, self.parameters)
        chosen = export.FORMATS[request.accepted_renderer.format]
        limit = parse_whole_number(request, "limit", 0, highest=_MAX_LIMIT) or None
        cluster = self.find_cluster(request, **names)
        filters = finding.parse(request.query_params, now=cluster.now() if cluster else None)
        number = cluster.pk if cluster else None
        reach = reach_of(request.user)
        found = export.batches(filters, cluster_id=number, limit=limit, reach=reach)
        chunks = chosen.write(export.FIELDS, found)
        response = StreamingHttpResponse(chunks, content_type=chosen.media_type)
        response["Content-Disposition"] = f'attachment; filename="decisions.{chosen.name}"'
        return response

    def find_cluster(self, request: Request) -> Cluster | None:
        return find_cluster(request)

    def handle_exception(self, exc: Exception) -> Response:
        response = super().handle_exception(exc)
        response.content_type = "application/json"
        return response


@extend_schema(summary="Export the decisions of a cluster")
class ClusterDecisionExportView(DecisionExportView):
    """Decisions of one cluster, which may be deleted."""

    def find_cluster(self, request: Request, **names: Any) -> Cluster:
        return recorded_cluster(names)
