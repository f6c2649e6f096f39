"""Clusters side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.administration.clusters.comparison import ComparedSection, compare_clusters
from apps.api.control.answers import answer
from apps.api.control.base import ControlView, parse_switch, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.serializers import ErrorSerializer
from apps.cluster import limits
from apps.cluster.access.gate import require_role
from apps.cluster.errors import BadRequest
from apps.cluster.roles import Role


@dataclass(frozen=True, slots=True)
class ClusterComparison:
    #: their names
    clusters: Sequence[str]
    #: state, usage, configuration in effect, each profile, settings
    sections: Sequence[ComparedSection]


class ComparisonView(ControlView):
    """Clusters side by side."""

    area = Area.CLUSTERS

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "clusters",
                str,
                required=True,
                description=f"2 to {limits.COMPARED_CLUSTERS.highest} names of clusters, "
                "separated by commas.",
            ),
            OpenApiParameter(
                "differences",
                bool,
                description="Only rows whose values differ, and their sections.",
            ),
        ],
        responses={200: ClusterComparison, 400: ErrorSerializer, 404: ErrorSerializer},
    )
    def get(self, request: Request) -> Response:
        """Compare clusters.

        State, usage of each resource, the configuration in effect with defaults applied, and
        settings: one row for each fact, with the values of the clusters in the given order.
        """
        reject_unknown(request, ("clusters", "differences"))
        text = request.query_params.get("clusters", "")
        names = list(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
        if not limits.COMPARED_CLUSTERS.admits(len(names)):
            raise BadRequest(
                f"clusters: name 2 to {limits.COMPARED_CLUSTERS.highest} different clusters, "
                f"not {len(names)}"
            )
        for name in names:
            require_role(request.user, name, name, Role.VIEWER)
        only_differences = parse_switch(request, "differences")
        comparison = compare_clusters(names)
        sections = [
            replace(section, rows=rows)
            for section in comparison.sections
            if (rows := [row for row in section.rows if row.differs or not only_differences])
        ]
        return answer(ClusterComparison([each.name for each in comparison.clusters], sections))
