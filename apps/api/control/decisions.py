"""The decision ledger: every attempt to schedule a pod, newest first."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import mixins
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from apps.answers import to_json
from apps.api.control.answers import answer
from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.paging import PAGING, NewestFirst
from apps.api.control.recorded import recorded_cluster
from apps.api.control.serializers import (
    DecisionDetailSerializer,
    DecisionSerializer,
    ErrorSerializer,
)
from apps.cluster.access.gate import require_role
from apps.cluster.access.reach import reach_of
from apps.cluster.errors import BadRequest, NotFound
from apps.cluster.models import Cluster
from apps.cluster.queries import cluster_named
from apps.cluster.roles import Role
from apps.engine import queries
from apps.engine.ledger import finding
from apps.engine.ledger.reading import read
from apps.engine.models import SchedulingDecision
from apps.engine.results import presenting
from apps.studies.history import past_clusters

_TYPES: dict[finding.Kind, Any] = {
    "text": str,
    "number": int,
    "time": str,
    "zone": str,
    "uid": UUID,
    "result": str,
}
FILTERS = [
    OpenApiParameter(
        each.name,
        _TYPES[each.kind],
        description=each.meaning,
        enum=SchedulingDecision.Result.values if each.kind == "result" else None,
    )
    for each in finding.PARAMETERS
]
_REFUSALS = {400: ErrorSerializer, 404: ErrorSerializer}
_LIST = (
    "Attempts to schedule a pod that match all filters, newest first. `next` is the address of the "
    "next page, or null."
)
_CLUSTER_PARAMETERS = [
    OpenApiParameter("cluster", str, description="Name of a cluster."),
    OpenApiParameter("cluster_id", int, description="Id of a cluster, which may be deleted."),
]


class _Decisions(ControlView, mixins.ListModelMixin, GenericViewSet[SchedulingDecision]):
    """Decisions, newest first, of the clusters that `cluster_id` names."""

    area = Area.DECISIONS
    queryset = SchedulingDecision.objects.none()
    serializer_class = DecisionSerializer
    pagination_class = NewestFirst
    #: the query parameters of a list besides those of its page
    parameters = frozenset(each.name for each in FILTERS)

    def get_queryset(self) -> QuerySet[SchedulingDecision]:
        reject_unknown(self.request, {*self.parameters, *PAGING, "format"})
        cluster = self.find_cluster()
        now = cluster.now() if cluster is not None else None
        filters = finding.parse(self.request.query_params, now=now)
        number = cluster.pk if cluster is not None else None
        return finding.find(filters, cluster_id=number, reach=reach_of(self.request.user))

    def find_cluster(self) -> Cluster | None:
        """The cluster whose decisions are listed; None = all clusters."""
        return recorded_cluster(self.kwargs)

    def get_serializer_context(self) -> dict[str, Any]:
        names = queries.list_cluster_names()
        return {**super().get_serializer_context(), "cluster_names": names}


@extend_schema_view(
    list=extend_schema(
        summary="List the decisions of a cluster",
        description=_LIST,
        parameters=FILTERS,
        responses={200: DecisionSerializer(many=True), **_REFUSALS},
    )
)
class ClusterDecisionViewSet(_Decisions):
    """Attempts to schedule the pods of one cluster, which may be deleted."""


@extend_schema_view(
    list=extend_schema(
        summary="List decisions",
        description=f"Of all clusters, or of the one that `cluster` or `cluster_id` names. {_LIST}",
        parameters=[*_CLUSTER_PARAMETERS, *FILTERS],
        responses={200: DecisionSerializer(many=True), **_REFUSALS},
    )
)
class DecisionViewSet(_Decisions):
    """Attempts to schedule a pod; retained when the pod or the cluster is deleted."""

    path_help = {"id": "Id of the decision."}
    lookup_value_regex = r"\d{1,18}"
    parameters = _Decisions.parameters | {each.name for each in _CLUSTER_PARAMETERS}

    def find_cluster(self) -> Cluster | None:
        return find_cluster(self.request)

    @extend_schema(responses={200: DecisionDetailSerializer, 404: ErrorSerializer})
    def retrieve(self, request: Request, pk: str) -> Response:
        """Read a decision.

        With the refusals of nodes, the scores of the feasible ones, preemption, and the durations
        of extension points and plugins.
        """
        row = queries.decision_numbered(int(pk))
        record = read(row)
        body = DecisionSerializer(row, context=self.get_serializer_context()).data
        return Response(
            {
                **body,
                **to_json(presenting.read_results(record.decision)),
                "tie_break": record.draws.tie_break,
                "seed": record.draws.seed,
            }
        )

    @extend_schema(responses={200: presenting.NodeResult, 404: ErrorSerializer})
    @action(detail=True, methods=["get"], url_path="nodes/(?P<node>[^/]+)")
    def node(self, request: Request, pk: str, node: str) -> Response:
        """Read the result of a node in a decision.

        Its refusal, or its scores and its rank.
        """
        decision = read(queries.decision_numbered(int(pk))).decision
        try:
            return answer(presenting.read_node_result(decision, node))
        except KeyError as error:
            raise NotFound("nodes", node) from error


def find_cluster(request: Request) -> Cluster | None:
    """The cluster that `cluster` or `cluster_id` names; None = all clusters.

    A deleted cluster whose history is no longer retained has no decisions. Raises BadRequest for a
    `cluster_id` that is no number.
    """
    if name := request.query_params.get("cluster"):
        require_role(request.user, name, name, Role.VIEWER)
        return cluster_named(name)
    number = request.query_params.get("cluster_id", "")
    if number and not (number.isascii() and number.isdecimal() and len(number) <= 18):
        raise BadRequest(f"cluster_id: {number!r} is not a whole number")
    return past_clusters.find_cluster(int(number)) if number else None
