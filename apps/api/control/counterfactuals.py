"""What a recorded decision would have been with other weights, or without some filters."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.answers import answer
from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.explanations import parse_number
from apps.api.control.request_shapes import StrictSerializer
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.errors import BadRequest
from apps.cluster.queries import cluster_named
from apps.engine import queries
from apps.engine.ledger.reading import read
from apps.studies.lab.counterfactuals import Counterfactual, Question, ask
from apps.studies.lab.edits import Edits
from apps.studies.lab.facts import FoundFacts, find_facts


class _EditsSerializer(StrictSerializer):
    """What is different from the recorded decision."""

    weights = serializers.DictField(
        child=serializers.IntegerField(min_value=0), default=dict, help_text="Plugin: weight."
    )
    without = serializers.ListField(
        child=serializers.CharField(), default=list, help_text="Filter plugins switched off."
    )
    pod = serializers.JSONField(
        default=dict, help_text="A merge patch (RFC 7386) of the pod's `metadata` or `spec`."
    )
    nodes = serializers.DictField(
        child=serializers.JSONField(),
        default=dict,
        help_text="Node: a merge patch of its `metadata`, `spec` or `status`, such as "
        '`{"spec": {"taints": null}}`.',
    )
    delete_pods = serializers.ListField(
        child=serializers.CharField(),
        default=list,
        help_text="Pods on nodes that are deleted first: `namespace/name`.",
    )


class CounterfactualView(ControlView):
    """What a decision would have been."""

    area = Area.LAB
    path_help = {"number": "Id of the decision."}

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "weight",
                str,
                many=True,
                description="Plugin (or URL of an extender), colon, weight from 0 to 100. "
                "The recorded weight by default.",
            ),
            OpenApiParameter(
                "without", str, many=True, description="A filter plugin that is switched off."
            ),
        ],
        responses={
            200: Counterfactual,
            400: ErrorSerializer,
            404: ErrorSerializer,
        },
    )
    def get(self, request: Request, cluster: str, number: str) -> Response:
        """Ask what a decision would have been.

        With other weights, the totals of all nodes follow from the recorded normalized scores.
        With filter plugins switched off, the state of the decision is rebuilt, and its pod is
        filtered and scored again. `flips` has the nearest weight of each plugin, upwards and
        downwards, with which another node is chosen. Nothing is written.
        """
        reject_unknown(request, {"weight", "without"})
        row = queries.decision_numbered(parse_number(number), cluster_named(cluster))
        question = Question(
            weights=dict(map(_parse_weight, request.query_params.getlist("weight"))),
            without=request.query_params.getlist("without"),
        )
        return answer(ask(row, read(row), question))

    @extend_schema(
        request=_EditsSerializer,
        responses={200: Counterfactual, 400: ErrorSerializer, 404: ErrorSerializer},
    )
    def post(self, request: Request, cluster: str, number: str) -> Response:
        """Ask what a decision would have been with other facts.

        The state that the decision saw is rebuilt and changed: the pod, nodes (labels, taints,
        allocatable), and pods that are deleted from them. The pod is then filtered and scored
        again. Nothing is written.
        """
        wanted = _EditsSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        typed = wanted.validated_data
        row = queries.decision_numbered(parse_number(number), cluster_named(cluster))
        question = Question(
            weights=typed["weights"],
            without=typed["without"],
            edits=Edits(
                _patch("pod", typed["pod"]),
                {name: _patch(f"nodes[{name}]", patch) for name, patch in typed["nodes"].items()},
                typed["delete_pods"],
            ),
        )
        return answer(ask(row, read(row), question))


class FactsView(ControlView):
    """The facts that a decision depended on."""

    area = Area.LAB
    path_help = {"number": "Id of the decision."}

    @extend_schema(responses={200: FoundFacts, 400: ErrorSerializer, 404: ErrorSerializer})
    def get(self, request: Request, cluster: str, number: str) -> Response:
        """List the smallest sets of facts without which a decision comes out otherwise.

        A rule of the pod, a taint or the cordon of a node, the pods on a node, or the weight of a
        plugin. Each set is proven: the decision is made again without it.
        """
        reject_unknown(request, ())
        row = queries.decision_numbered(parse_number(number), cluster_named(cluster))
        return answer(find_facts(row, read(row)))


def _patch(field: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadRequest(f"{field}: must be an object")
    return value


def _parse_weight(text: str) -> tuple[str, int]:
    name, colon, number = text.rpartition(":")
    if not colon or not number.isascii() or not number.isdecimal() or len(number) > 18:
        raise BadRequest(f"weight: {text} is not a plugin, a colon and a whole number")
    return name, int(number)
