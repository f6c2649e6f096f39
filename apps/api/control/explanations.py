"""Explanations: of one decision, and of one pod as it is now."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.base import ControlView
from apps.api.control.explanation_serializers import (
    DecisionExplanationSerializer,
    PodExplanationSerializer,
)
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.errors import BadRequest, NotFound
from apps.cluster.queries import cluster_named
from apps.controlplane import queries
from apps.controlplane.explanations.around import read_state_around
from apps.controlplane.explanations.decisions import explain_decision
from apps.controlplane.explanations.pods import explain_pod
from apps.controlplane.ledger.reading import read

_NODES = (
    OpenApiParameter(
        "node", str, description="Explain why this node was not selected, or that it was."
    ),
    OpenApiParameter("against", str, description="A second node, compared with `node`."),
)


class DecisionExplanationView(ControlView):
    """Why a pod was scheduled to its node, and why not to another one."""

    @extend_schema(
        parameters=[*_NODES],
        responses={
            200: DecisionExplanationSerializer,
            400: ErrorSerializer,
            404: ErrorSerializer,
        },
    )
    def get(self, request: Request, cluster: str, number: str) -> Response:
        """The choice as a sentence and as the share of each plugin; with `node`, why not that node.

        The figures of a refusal are those at the time of the decision, not the current ones.
        """
        found = cluster_named(cluster)
        row = queries.decision_numbered(_parse_number(number), found)
        node, against = (request.query_params.get(name, "") for name in ("node", "against"))
        if against and not node:
            raise BadRequest("against: requires `node`, which it is compared with")
        explained = explain_decision(row, node=node, against=against)
        return Response(DecisionExplanationSerializer(explained).data)


class PodThenSerializer(serializers.Serializer[Any]):
    namespace = serializers.CharField()
    name = serializers.CharField()
    uid = serializers.CharField()
    priority = serializers.IntegerField()
    requests = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="CPU in milli-CPU, the others in bytes or whole units.",
    )
    assumed = serializers.BooleanField(
        help_text="The scheduler had assumed it on the node; its binding was not written yet."
    )


class NodeThenSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    unschedulable = serializers.BooleanField()
    taints = serializers.ListField(child=serializers.CharField())
    amounts = serializers.DictField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="Resource -> [requested, allocatable], in the units of requests.",
    )
    pods = PodThenSerializer(many=True)
    outcome = serializers.ChoiceField(["chosen", "feasible", "rejected", "not evaluated"])
    reason = serializers.CharField()


class StateAroundSerializer(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    version = serializers.IntegerField()
    sequence = serializers.IntegerField(help_text="Decisions of this version before it.")
    nodes = NodeThenSerializer(many=True, help_text="By name.")
    pending = PodThenSerializer(many=True, help_text="Pods without a node, by priority.")
    gap = serializers.CharField(help_text="Why the state cannot be rebuilt; empty if it is.")


class DecisionStateView(ControlView):
    """Nodes and pods as a decision saw them."""

    @extend_schema(responses={200: StateAroundSerializer, 404: ErrorSerializer})
    def get(self, request: Request, cluster: str, number: str) -> Response:
        """The state around a decision, rebuilt from the change log."""
        row = queries.decision_numbered(_parse_number(number), cluster_named(cluster))
        return Response(StateAroundSerializer(read_state_around(row, read(row).decision)).data)


def _parse_number(number: str) -> int:
    if not (number.isascii() and number.isdecimal() and len(number) <= 18):
        raise NotFound("decisions", number)
    return int(number)


class PodExplanationView(ControlView):
    """Why a pod is pending, what would make it schedulable, and when it is retried."""

    @extend_schema(responses={200: PodExplanationSerializer, 404: ErrorSerializer})
    def get(self, request: Request, cluster: str, namespace: str, name: str) -> Response:
        """All fields are empty for a pod that is not pending."""
        explained = explain_pod(cluster_named(cluster), namespace, name)
        return Response(PodExplanationSerializer(explained).data)
