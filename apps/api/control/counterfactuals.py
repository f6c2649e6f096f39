"""What a recorded decision would have been with other weights, or without some filters."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.explanations import parse_number
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.errors import BadRequest
from apps.cluster.queries import cluster_named
from apps.controlplane import queries
from apps.controlplane.lab.counterfactuals import Question, ask
from apps.controlplane.lab.presenting import present_counterfactual
from apps.controlplane.ledger.reading import read
from apps.controlplane.rebuilding.previewing import Effect

_EFFECTS = [
    each.value
    for each in (
        Effect.SAME,
        Effect.TIED,
        Effect.OTHER_NODE,
        Effect.NOW_SCHEDULED,
        Effect.NOW_UNSCHEDULABLE,
    )
]


class _WeightSerializer(serializers.Serializer[Any]):
    plugin = serializers.CharField(help_text="The plugin, or the URL of an extender.")
    recorded = serializers.IntegerField()
    weight = serializers.IntegerField()


class _NodeTotalSerializer(serializers.Serializer[Any]):
    node = serializers.CharField()
    rank = serializers.IntegerField(help_text="From 1; equal totals share a rank.")
    total = serializers.IntegerField()
    recorded_total = serializers.IntegerField(
        allow_null=True, help_text="Null for a node that had no scores."
    )
    missed_by = serializers.IntegerField(help_text="How much the greatest total is above it.")


class _FlipSerializer(serializers.Serializer[Any]):
    """The nearest weight of a plugin with which the recorded node is not chosen."""

    plugin = serializers.CharField()
    recorded_weight = serializers.IntegerField()
    weight = serializers.IntegerField()
    last_weight = serializers.IntegerField(help_text="The same nodes win up to this weight.")
    is_open = serializers.BooleanField(
        help_text="They win with every weight beyond it, too; if it is 0, there is none."
    )
    distance = serializers.IntegerField(help_text="By how much the weight changes.")
    node = serializers.CharField(help_text="Empty if one of several would be drawn.")
    tied = serializers.ListField(
        child=serializers.CharField(), help_text="The nodes with the greatest total, by name."
    )
    total = serializers.IntegerField()
    recorded_node_total = serializers.IntegerField(
        help_text="The total of the recorded node with this weight."
    )
    sentence = serializers.CharField()


class CounterfactualSerializer(serializers.Serializer[Any]):
    sentence = serializers.CharField()
    effect = serializers.ChoiceField(
        _EFFECTS,
        help_text="`tied`: the recorded node has the greatest total as well, and the draw is not "
        "known.",
    )
    recorded_node = serializers.CharField()
    node = serializers.CharField(
        help_text="Empty if there is none, or if the draw is not known: then `tied` has several."
    )
    tied = serializers.ListField(
        child=serializers.CharField(), help_text="The nodes with the greatest total."
    )
    weights = _WeightSerializer(many=True)
    without = serializers.ListField(child=serializers.CharField())
    nodes = _NodeTotalSerializer(many=True, help_text="All feasible nodes, by rank.")
    flips = _FlipSerializer(
        many=True, help_text="Of the recorded decision; the smallest change first."
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
            200: CounterfactualSerializer,
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
        found = ask(row, read(row), question)
        return Response(CounterfactualSerializer(present_counterfactual(found)).data)


def _parse_weight(text: str) -> tuple[str, int]:
    name, colon, number = text.rpartition(":")
    if not colon or not number.isascii() or not number.isdecimal() or len(number) > 18:
        raise BadRequest(f"weight: {text} is not a plugin, a colon and a whole number")
    return name, int(number)
