"""What happened in a span of time: the notes on charts."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.answers import answer
from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.recorded import PERIOD
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.errors import BadRequest
from apps.cluster.queries import cluster_named
from apps.engine.periods import PARAMETERS, parse_period
from apps.studies.history.milestones import Milestones, read_milestones


class MilestoneListView(ControlView):
    """What happened to a cluster."""

    area = Area.SERIES

    @extend_schema(
        parameters=PERIOD,
        responses={200: Milestones, 400: ErrorSerializer, 404: ErrorSerializer},
    )
    def get(self, request: Request, cluster: str) -> Response:
        """List milestones.

        What happened to the cluster in a period, oldest first: failed, recovered, cordoned,
        tainted, added and removed nodes; drains, imports and other operations; pauses, changed
        settings and activated configurations. At most 200, the newest ones.

        Operations, pauses, settings and activations are recorded with real times, so they are
        left out for a cluster with a manual clock.
        """
        reject_unknown(request, {*PARAMETERS, "format"})
        query = request.query_params
        if any("\x00" in value for value in query.values()):
            raise BadRequest("a parameter holds a NUL character")
        target = cluster_named(cluster)
        response = answer(read_milestones(target, parse_period(query, now=target.now())))
        response["Cache-Control"] = "no-store"
        return response
