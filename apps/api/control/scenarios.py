"""Scenarios: start one, and list those that were run."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from apps.administration.operations import scenarios
from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.operations import OperationSerializer, get_actor
from apps.api.control.paging import PAGING, NewestFirst
from apps.api.control.parsers import FormParser, JsonParser
from apps.api.control.request_shapes import StrictSerializer
from apps.api.control.serializers import ErrorSerializer
from apps.engine.models import Operation


class _FilesField(serializers.DictField):
    """Contents by name: of texts in JSON, of the files of a form."""

    def to_internal_value(self, data: Any) -> dict[str, bytes]:
        if isinstance(data, dict):
            texts: dict[str, str] = super().to_internal_value(data)
            return {name: text.encode() for name, text in texts.items()}
        contents = dict(data)
        if len(contents) < len(data):
            raise serializers.ValidationError("two files have the same name")
        return contents


class ScenarioRequestSerializer(StrictSerializer):
    scenario = serializers.CharField(
        trim_whitespace=False, help_text="The scenario, as YAML (docs/scenarios.md)."
    )
    files = _FilesField(
        child=serializers.CharField(trim_whitespace=False, allow_blank=True),
        default=dict,
        help_text="Texts of the files that it imports, by the names that it uses. A form may have "
        "files instead, archives too.",
    )


class ScenarioListView(ControlView, ListAPIView[Operation]):
    """Scenarios that are run."""

    area = Area.LAB
    parser_classes = [JsonParser, FormParser]
    queryset = Operation.objects.none()
    serializer_class = OperationSerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> QuerySet[Operation]:
        reject_unknown(self.request, (*PAGING, "format"))
        return scenarios.runs_of(self.request.user)

    @extend_schema(
        responses={200: OperationSerializer(many=True), 400: ErrorSerializer},
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the scenarios that were run.

        As operations, newest first; `/operations/{id}/output` has the result of one that has
        succeeded.
        """
        return self.list(request, *args, **kwargs)

    @extend_schema(
        request={
            "application/json": ScenarioRequestSerializer,
            "multipart/form-data": {
                "type": "object",
                "properties": {"scenario": {"type": "string"}},
                "additionalProperties": {"type": "string", "format": "binary"},
            },
        },
        responses={202: OperationSerializer, 400: ErrorSerializer},
    )
    def post(self, request: Request) -> Response:
        """Run a scenario.

        Starts an operation that runs it in memory, with each profile and each seed. It is checked
        first: an error names the line and the field, and nothing is started. Send files that are
        no texts with a form, whose field `scenario` has the scenario.
        """
        wanted = ScenarioRequestSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        typed = wanted.validated_data
        started = scenarios.start(typed["scenario"], typed["files"], actor=get_actor(request))
        return Response(OperationSerializer(started).data, status=status.HTTP_202_ACCEPTED)
