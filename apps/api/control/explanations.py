"""Explanations: of one decision, and of one pod as it is now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import ClassVar

from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.administration.clusters.forking import Origin, origin_of_pod
from apps.api.control.answers import answer
from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.recorded import FileErrors, create_renderer, describe_files, file_response
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.errors import BadRequest, NotFound
from apps.cluster.queries import cluster_named
from apps.engine import exported_files, queries
from apps.engine.ledger.reading import read
from apps.engine.results.scores import score_matrix
from apps.studies.explanations.around import StateAround, read_state_around
from apps.studies.explanations.explained_decisions import DecisionExplanation, explain_decision
from apps.studies.explanations.pending_pods import PodExplanation, explain_pod
from apps.studies.explanations.scores import (
    INPUT_COLUMNS,
    NodeInputs,
    explain_scores,
    list_inputs,
)
from apps.studies.explanations.visiting import VisitingOrder, read_visiting_order

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
            200: DecisionExplanation,
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
        target = cluster_named(cluster)
        row = queries.decision_numbered(parse_number(number), target)
        node, against = (request.query_params.get(name, "") for name in ("node", "against"))
        if against and not node:
            raise BadRequest("against: requires `node`, which it is compared with")
        explained = explain_decision(row, node=node, against=against)
        return answer(explained)


_NODE = OpenApiParameter(
    "node", str, many=True, description="A feasible node; by default the one with the best score."
)
_PLUGIN = OpenApiParameter(
    "plugin", str, description="Only the scores of this plugin, or of the extender with this URL."
)


@dataclass(frozen=True, slots=True)
class ScoreInputsOfDecision:
    #: the requested nodes, in order
    nodes: Sequence[NodeInputs]


class ScoreInputsView(ControlView):
    """What the scores of a decision were computed from."""

    area = Area.EXPLANATIONS
    path_help = {"number": "Id of the decision."}

    @extend_schema(
        parameters=[_NODE, _PLUGIN],
        responses={
            200: ScoreInputsOfDecision,
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
        inputs = explain_scores(row, decision, nodes, plugin) if nodes else []
        return answer(ScoreInputsOfDecision(inputs))


class ScoreInputsExportView(FileErrors):
    """The inputs of all scores of a decision as a file."""

    area = Area.EXPLANATIONS
    path_help = {"number": "Id of the decision."}
    renderer_classes = [create_renderer(each) for each in exported_files.FORMATS.values()]

    @extend_schema(
        parameters=[
            OpenApiParameter("format", str, enum=list(exported_files.FORMATS), default="csv"),
            _NODE,
            _PLUGIN,
        ],
        responses={
            **describe_files(exported_files.FORMATS),
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

    @extend_schema(responses={200: VisitingOrder, 404: ErrorSerializer})
    def get(self, request: Request, cluster: str, number: str) -> Response:
        """Read the visiting order.

        All nodes in the order in which the search visits them, a node of each zone in turn; where
        the search started, and where it stopped because enough nodes were feasible.
        """
        row = queries.decision_numbered(parse_number(number), cluster_named(cluster))
        return answer(read_visiting_order(row, read(row).decision))


class DecisionStateView(ControlView):
    """Nodes and pods as a decision saw them."""

    area = Area.EXPLANATIONS
    path_help = {"number": "Id of the decision."}

    @extend_schema(responses={200: StateAround, 404: ErrorSerializer})
    def get(self, request: Request, cluster: str, number: str) -> Response:
        """Read the state around a decision.

        The nodes with their pods, and the pending pods, as the decision saw them; rebuilt from the
        change log.
        """
        row = queries.decision_numbered(parse_number(number), cluster_named(cluster))
        return answer(read_state_around(row, read(row).decision))


def parse_number(number: str) -> int:
    """The id of a decision in an address; NotFound for anything else."""
    if not (number.isascii() and number.isdecimal() and len(number) <= 18):
        raise NotFound("decisions", number)
    return int(number)


@dataclass(frozen=True, slots=True)
class PodOrigin:
    """The cluster that this one was forked from, for a pod with decisions there."""

    #: its name at the time of the fork
    cluster: str
    version: int
    at: datetime
    #: the address of the decisions about the pod until then; None if nothing of that cluster is
    #: retained
    decisions: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedPod(PodExplanation):
    """One pod, as it is now, and in a fork where it comes from."""

    #: where its decisions before the fork are; None if there are none, as in a cluster that is no
    #: fork
    forked_from: PodOrigin | None

    ANSWER: ClassVar = (*PodExplanation.ANSWER, "forked_from")


class PodExplanationView(ControlView):
    """Why a pod is pending, what would make it schedulable, and when it is retried."""

    area = Area.EXPLANATIONS
    path_help = {"name": "Name of the pod."}

    @extend_schema(responses={200: ExplainedPod, 404: ErrorSerializer})
    def get(self, request: Request, cluster: str, namespace: str, name: str) -> Response:
        """Explain why a pod is pending.

        The reason, the changes that would make it schedulable, its place in the queue, and the
        events that would activate it. All fields but `forked_from` are empty for a pod that is not
        pending.

        In a fork, `forked_from` has the address of the decisions about the pod before the fork.
        """
        target = cluster_named(cluster)
        explained = explain_pod(target, namespace, name)
        origin = origin_of_pod(target, explained.uid)
        forked_from = None if origin is None else _describe_origin(origin, explained.uid)
        shown = {each.name: getattr(explained, each.name) for each in fields(explained)}
        return answer(ExplainedPod(**shown, forked_from=forked_from))


def _describe_origin(origin: Origin, uid: str) -> PodOrigin:
    past = "~" in origin.slug
    parent = f"history/clusters/{origin.cluster_id}" if past else f"clusters/{origin.slug}"
    address = f"/api/v1/{parent}/decisions?pod_uid={uid}" if origin.slug else None
    return PodOrigin(origin.name, origin.version, origin.at, address)
