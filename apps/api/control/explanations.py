"""Explanations: of one decision, and of one pod as it is now."""

from __future__ import annotations

from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.administration.clusters.forking import origin_of_pod
from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.explanation_serializers import (
    DecisionExplanationSerializer,
    PodExplanationSerializer,
    ScoreInputsOfDecisionSerializer,
    VisitingOrderSerializer,
)
from apps.api.control.recorded import FileErrors, create_renderer, describe_files, file_response
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.errors import BadRequest, NotFound
from apps.cluster.queries import cluster_named
from apps.engine import files, queries
from apps.engine.ledger.reading import read
from apps.engine.results.scores import score_matrix
from apps.studies.explanations.around import read_state_around
from apps.studies.explanations.decisions import explain_decision
from apps.studies.explanations.pods import explain_pod
from apps.studies.explanations.scores import INPUT_COLUMNS, explain_scores, list_inputs
from apps.studies.explanations.visiting import read_visiting_order

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
        row = queries.decision_numbered(parse_number(number), found)
        node, against = (request.query_params.get(name, "") for name in ("node", "against"))
        if against and not node:
            raise BadRequest("against: requires `node`, which it is compared with")
        explained = explain_decision(row, node=node, against=against)
        return Response(DecisionExplanationSerializer(explained).data)


_NODE = OpenApiParameter(
    "node", str, many=True, description="A feasible node; by default the one with the best score."
)
_PLUGIN = OpenApiParameter(
    "plugin", str, description="Only the scores of this plugin, or of the extender with this URL."
)


class ScoreInputsView(ControlView):
    """What the scores of a decision were computed from."""

    area = Area.EXPLANATIONS
    path_help = {"number": "Id of the decision."}

    @extend_schema(
        parameters=[_NODE, _PLUGIN],
        responses={
            200: ScoreInputsOfDecisionSerializer,
            400: ErrorSerializer,
            404: ErrorSerializer,
        },
    )
    def get(self, request: Request, cluster: str, number: str) -> Response:
        """Read the inputs of scores.

        For each score of a node: the inputs of the raw score with its formula, the normalization
        with the smallest and the greatest raw score, the weight. `node` can be repeated.

        The state that the decision saw is rebuilt from the change log; `gap` says why there are
        no inputs if it cannot be rebuilt. The scores themselves are always those of the ledger.
        """
        reject_unknown(request, {"node", "plugin"})
        row = queries.decision_numbered(parse_number(number), cluster_named(cluster))
        decision = read(row).decision
        nodes = request.query_params.getlist("node") or score_matrix(decision).nodes[:1]
        plugin = request.query_params.get("plugin", "")
        found = explain_scores(row, decision, nodes, plugin) if nodes else []
        return Response(ScoreInputsOfDecisionSerializer({"nodes": found}).data)


class ScoreInputsExportView(FileErrors):
    """The inputs of all scores of a decision as a file."""

    area = Area.EXPLANATIONS
    path_help = {"number": "Id of the decision."}
    renderer_classes = [create_renderer(each) for each in files.FORMATS.values()]

    @extend_schema(
        parameters=[
            OpenApiParameter("format", str, enum=list(files.FORMATS), default="csv"),
            _NODE,
            _PLUGIN,
        ],
        responses={
            **describe_files(files.FORMATS),
            400: ErrorSerializer,
            404: ErrorSerializer,
        },
    )
    def get(self, request: Request, cluster: str, number: str) -> StreamingHttpResponse:
        """Export the inputs of scores.

        A row for each input, each step of a normalization, and the points of each score; of all
        feasible nodes, or of those that `node` names.
        """
        reject_unknown(request, {"format", "node", "plugin"})
        row = queries.decision_numbered(parse_number(number), cluster_named(cluster))
        nodes, plugin = request.query_params.getlist("node"), request.query_params.get("plugin", "")
        explained = explain_scores(row, read(row).decision, nodes, plugin)
        rows = iter([list(list_inputs(explained))])
        return file_response(request, f"inputs-{row.pk}", INPUT_COLUMNS, rows)


class VisitingOrderView(ControlView):
    """The order in which a decision visited the nodes."""

    area = Area.EXPLANATIONS
    path_help = {"number": "Id of the decision."}

    @extend_schema(responses={200: VisitingOrderSerializer, 404: ErrorSerializer})
    def get(self, request: Request, cluster: str, number: str) -> Response:
        """Read the visiting order.

        All nodes in the order in which the search visits them, a node of each zone in turn; where
        the search started, and where it stopped because enough nodes were feasible.
        """
        row = queries.decision_numbered(parse_number(number), cluster_named(cluster))
        order = read_visiting_order(row, read(row).decision)
        return Response(VisitingOrderSerializer(order).data)


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

    area = Area.EXPLANATIONS
    path_help = {"number": "Id of the decision."}

    @extend_schema(responses={200: StateAroundSerializer, 404: ErrorSerializer})
    def get(self, request: Request, cluster: str, number: str) -> Response:
        """Read the state around a decision.

        The nodes with their pods, and the pending pods, as the decision saw them; rebuilt from the
        change log.
        """
        row = queries.decision_numbered(parse_number(number), cluster_named(cluster))
        return Response(StateAroundSerializer(read_state_around(row, read(row).decision)).data)


def parse_number(number: str) -> int:
    """The id of a decision in an address; NotFound for anything else."""
    if not (number.isascii() and number.isdecimal() and len(number) <= 18):
        raise NotFound("decisions", number)
    return int(number)


class PodExplanationView(ControlView):
    """Why a pod is pending, what would make it schedulable, and when it is retried."""

    area = Area.EXPLANATIONS
    path_help = {"name": "Name of the pod."}

    @extend_schema(responses={200: PodExplanationSerializer, 404: ErrorSerializer})
    def get(self, request: Request, cluster: str, namespace: str, name: str) -> Response:
        """Explain why a pod is pending.

        The reason, the changes that would make it schedulable, its place in the queue, and the
        events that would activate it. All fields but `forked_from` are empty for a pod that is not
        pending.

        In a fork, `forked_from` has the address of the decisions about the pod before the fork.
        """
        found = cluster_named(cluster)
        explained = explain_pod(found, namespace, name)
        context = {"origin": origin_of_pod(found, explained.uid)}
        return Response(PodExplanationSerializer(explained, context=context).data)
