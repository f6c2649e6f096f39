"""Exports of decisions as streamed files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from apps.api.control.base import parse_whole_number, reject_unknown
from apps.api.control.decisions import FILTERS, DecisionViewSet, find_cluster
from apps.api.control.documentation.areas import Area
from apps.api.control.recorded import (
    FileErrors,
    create_renderer,
    describe_files,
    file_response,
    recorded_cluster,
)
from apps.api.control.serializers import ErrorSerializer
from apps.cluster import limits
from apps.cluster.access.reach import reach_of
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.engine.ledger import export, finding
from apps.studies.explanations.exporting import EXTENTS, SCORE_INPUTS, Extent, add_score_inputs

_QUERY = [
    OpenApiParameter("format", str, enum=list(export.FORMATS), default="csv"),
    OpenApiParameter("limit", int, description="Maximum number of decisions; the newest ones."),
    OpenApiParameter(
        SCORE_INPUTS,
        str,
        enum=list(EXTENTS),
        description="Adds a column with the inputs of all scores of the selected node, or of all "
        "feasible nodes, as `/inputs/export` has them. The state of each decision is rebuilt, "
        "which takes time: use filters or `limit`.",
    ),
    *FILTERS,
]
_REFUSALS = {400: ErrorSerializer, 404: ErrorSerializer, 501: ErrorSerializer}


@extend_schema(parameters=_QUERY, responses={**describe_files(export.FORMATS), **_REFUSALS})
class DecisionExportView(FileErrors):
    """Decisions of all clusters, newest first; `cluster` or `cluster_id` selects one."""

    area = Area.DECISIONS
    renderer_classes = [create_renderer(each) for each in export.FORMATS.values()]
    parameters = frozenset({"format", "limit", SCORE_INPUTS, *DecisionViewSet.parameters})

    def get(self, request: Request, **names: Any) -> StreamingHttpResponse:
        """Export decisions.

        A file with a row for each decision that the filters select, newest first.
        """
        reject_unknown(request, self.parameters)
        limit = (
            parse_whole_number(request, "limit", 0, highest=limits.EXPORTED_DECISIONS.highest)
            or None
        )
        extent = _parse_extent(request)
        cluster = self.find_cluster(request, **names)
        filters = finding.parse(request.query_params, now=cluster.now() if cluster else None)
        number = cluster.pk if cluster else None
        columns: Sequence[str] = export.FIELDS
        reach = reach_of(request.user)
        rows = export.batches(filters, cluster_id=number, limit=limit, reach=reach)
        if extent is not None:
            columns, rows = (*columns, SCORE_INPUTS), add_score_inputs(rows, extent)
        return file_response(request, "decisions", columns, rows, export.FORMATS)

    def find_cluster(self, request: Request) -> Cluster | None:
        return find_cluster(request)


def _parse_extent(request: Request) -> Extent | None:
    """`score_inputs`: None without it; BadRequest."""
    given = request.query_params.get(SCORE_INPUTS, "")
    for extent in EXTENTS:
        if given == extent:
            return extent
    if given:
        raise BadRequest(f"{SCORE_INPUTS}: {given!r} is not one of {', '.join(EXTENTS)}")
    return None


@extend_schema(summary="Export the decisions of a cluster")
class ClusterDecisionExportView(DecisionExportView):
    """Decisions of one cluster, which may be deleted."""

    def find_cluster(self, request: Request, **names: Any) -> Cluster:
        return recorded_cluster(names)
