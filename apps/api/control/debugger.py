"""The step debugger over REST."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.answers import answer
from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.request_shapes import StrictSerializer
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.errors import BadRequest
from apps.cluster.queries import cluster_named
from apps.studies.debugger.committing import commit
from apps.studies.debugger.cycle import Changes
from apps.studies.debugger.stepping import SteppedAttempt, find_pending, next_pod, step


class _ChangedScoreSerializer(serializers.Serializer[Any]):
    plugin = serializers.CharField()
    node = serializers.CharField()
    score = serializers.IntegerField(min_value=0, max_value=100, help_text="Normalized.")


class CommitSerializer(StrictSerializer):
    pod = serializers.CharField(help_text="`namespace/name`")
    version = serializers.IntegerField(help_text="As the steps returned it.")
    accept = serializers.ListField(child=serializers.CharField(), default=list)
    reject = serializers.ListField(child=serializers.CharField(), default=list)
    scores = _ChangedScoreSerializer(
        many=True, default=list, help_text="Normalized scores to use instead of the plugins'."
    )


@dataclass(frozen=True, slots=True)
class Committed:
    #: id in the ledger
    decision: int
    result: str
    node: str


class DebuggerView(ControlView):
    """One attempt, extension point by extension point."""

    area = Area.LAB

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "pod", str, description="`namespace/name`; by default the next one of the queue."
            ),
            OpenApiParameter(
                "accept", str, many=True, description="A node that passes Filter, whatever it is."
            ),
            OpenApiParameter("reject", str, many=True, description="A node that is rejected."),
            OpenApiParameter(
                "score",
                str,
                many=True,
                description="`plugin:node:score`, a normalized score (0 to 100) of a feasible node "
                "to use instead of the plugin's.",
            ),
        ],
        responses={
            200: SteppedAttempt,
            400: ErrorSerializer,
            404: ErrorSerializer,
        },
    )
    def get(self, request: Request, cluster: str) -> Response:
        """Step through the next attempt.

        Runs the attempt in memory: of each extension point its plugins, its status and what it
        added to the cycle state; of each node its verdict, and its scores. `accept` and `reject`
        change verdicts of Filter, `score` changes what Score returned. Nothing is written, so an
        attempt need not be discarded.
        """
        reject_unknown(request, {"pod", "accept", "reject", "score"})
        row = cluster_named(cluster)
        given = request.query_params
        uid = find_pending(row, given["pod"]) if given.get("pod") else next_pod(row)
        if not uid:
            raise BadRequest("no pod waits in activeQ or backoffQ: name a pending one with `pod`")
        changes = Changes(
            build_verdicts(given.getlist("accept"), given.getlist("reject")),
            dict(parse_score(text) for text in given.getlist("score")),
        )
        return answer(step(row, uid, changes))

    @extend_schema(
        request=CommitSerializer,
        responses={
            200: Committed,
            400: ErrorSerializer,
            404: ErrorSerializer,
            409: ErrorSerializer,
        },
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Commit an attempt.

        The cluster has to be paused, and at the version of the steps. The pod is bound, or returns
        to the queue, as after an attempt of the scheduler; the decision is recorded.
        """
        wanted = CommitSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        typed, target = wanted.validated_data, cluster_named(cluster)
        changes = Changes(
            build_verdicts(typed["accept"], typed["reject"]),
            {(each["plugin"], each["node"]): each["score"] for each in typed["scores"]},
        )
        row = commit(target, find_pending(target, typed["pod"]), changes, version=typed["version"])
        return answer(Committed(row.pk, row.result, row.node))


def build_verdicts(accept: list[str], reject: list[str]) -> dict[str, bool]:
    """Node -> whether it passes Filter."""
    return {**dict.fromkeys(accept, True), **dict.fromkeys(reject, False)}


def parse_score(text: str) -> tuple[tuple[str, str], int]:
    """`plugin:node:score` as the key and the value of `Changes.scores`; BadRequest otherwise."""
    plugin, _, rest = text.partition(":")
    node, _, score = rest.rpartition(":")
    if not (plugin and node and score.isascii() and score.isdecimal() and len(score) < 4):
        raise BadRequest(f"score: must be plugin:node:score with a score of 0 to 100, not {text}")
    return (plugin, node), int(score)
