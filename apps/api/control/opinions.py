"""Second opinions on the bindings of an external scheduler."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.answers import answer
from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.paging import PAGING, NewestFirst
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.errors import BadRequest
from apps.cluster.queries import cluster_named
from apps.engine import opinions
from apps.engine.models import SecondOpinion


class SecondOpinionSerializer(serializers.ModelSerializer[SecondOpinion]):
    class Meta:
        model = SecondOpinion
        exclude = ("cluster", "recorded_at")
        extra_kwargs = {
            "version": {"help_text": "Version of the binding."},
            "user": {"help_text": "Who bound the pod."},
            "guest_node": {"help_text": "The node to which the client bound the pod."},
            "node": {"help_text": "The node that this site's scheduler would have selected."},
            "message": {"help_text": "Explains a disagreement, order or moved-on."},
            "comparison": {"help_text": "Both nodes plugin by plugin; null without scores."},
        }


class AgreementView(ControlView):
    """How far an external scheduler agrees with this site's."""

    area = Area.DECISIONS

    @extend_schema(responses={200: opinions.Agreement, 404: ErrorSerializer})
    def get(self, request: Request, cluster: str) -> Response:
        """Agreement with an external scheduler.

        Nodes that were not sampled are not compared; ties count as agreement, and so does what
        another order of decisions, or an earlier state that the client can have seen, explains.
        """
        return answer(opinions.read_agreement(cluster_named(cluster)))


class SecondOpinionListView(ControlView, ListAPIView[SecondOpinion]):
    """The reviewed bindings of an external scheduler."""

    area = Area.DECISIONS
    queryset = SecondOpinion.objects.none()
    serializer_class = SecondOpinionSerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> QuerySet[SecondOpinion]:
        reject_unknown(self.request, ("verdict", *PAGING, "format"))
        matches = opinions.list_opinions(cluster_named(self.kwargs["cluster"]))
        verdict = self.request.query_params.get("verdict", "")
        if verdict and verdict not in SecondOpinion.Verdict.values:
            raise BadRequest(f"verdict: must be one of {', '.join(SecondOpinion.Verdict.values)}")
        return matches.filter(verdict=verdict) if verdict else matches

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "verdict",
                str,
                enum=SecondOpinion.Verdict.values,
                description="Only bindings with this verdict.",
            )
        ],
        responses={200: SecondOpinionSerializer(many=True), 400: ErrorSerializer},
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List second opinions.

        Every reviewed binding of an external scheduler, newest first.
        """
        return self.list(request, *args, **kwargs)
