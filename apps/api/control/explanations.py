"""Explanations: of one decision, and of one pod as it is now."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.base import ControlView
from apps.api.control.documentation.areas import Area
from apps.api.control.explanation_serializers import (
    DecisionExplanationSerializer,
    PodExplanationSerializer,
)
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.errors import BadRequest, NotFound
from apps.cluster.queries import cluster_named
from apps.controlplane import queries
from apps.controlplane.explanations.decisions import explain_decision
from apps.controlplane.explanations.pods import explain_pod

_NODES = (
    OpenApiParameter(
        "node", str, description="Explain why this node was not selected, or that it was."
    ),
    OpenApiParameter("against", str, description="A second node, compared with `node`."),
)


class DecisionExplanationView(ControlView):
    """Why a pod was scheduled to its node, and why not to another one."""

    area = Area.EXPLANATIONS
    path_help = {"number": "Id of the decision."}

    @extend_schema(
        parameters=[*_NODES],
        responses={
            200: DecisionExplanationSerializer,
            400: ErrorSerializer,
            404: ErrorSerializer,
        },
    )
    def get(self, request: Request, cluster: str, number: str) -> Response:
        """Explain a decision.

        The choice as a sentence and as the share of each plugin; with `node`, why that node was
        not selected.

        The figures of a refusal are those at the time of the decision, not the current ones.
        """
        found = cluster_named(cluster)
        if not (number.isascii() and number.isdecimal() and len(number) <= 18):
            raise NotFound("decisions", number)
        row = queries.decision_numbered(int(number), found)
        node, against = (request.query_params.get(name, "") for name in ("node", "against"))
        if against and not node:
            raise BadRequest("against: requires `node`, which it is compared with")
        explained = explain_decision(row, node=node, against=against)
        return Response(DecisionExplanationSerializer(explained).data)


class PodExplanationView(ControlView):
    """Why a pod is pending, what would make it schedulable, and when it is retried."""

    area = Area.EXPLANATIONS
    path_help = {"name": "Name of the pod."}

    @extend_schema(responses={200: PodExplanationSerializer, 404: ErrorSerializer})
    def get(self, request: Request, cluster: str, namespace: str, name: str) -> Response:
        """Explain why a pod is pending.

        The reason, the changes that would make it schedulable, its place in the queue, and the
        events that would activate it. All fields are empty for a pod that is not pending.
        """
        explained = explain_pod(cluster_named(cluster), namespace, name)
        return Response(PodExplanationSerializer(explained).data)
