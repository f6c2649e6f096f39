"""Decisions that kube-scheduler-simulator recorded, compared with ours."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from apps.administration.operations import recorded_decisions
from apps.api.control.base import ControlView
from apps.api.control.documentation.areas import Area
from apps.api.control.operations import OperationSerializer, get_actor
from apps.api.control.request_shapes import StrictSerializer
from apps.api.control.serializers import ErrorSerializer


class RecordedDecisionsRequestSerializer(StrictSerializer):
    recording = serializers.CharField(
        trim_whitespace=False, help_text="A record (JSON lines or a list) or a snapshot (JSON)."
    )
    name = serializers.CharField(
        default="recording", max_length=200, help_text="Of the file, for errors and the report."
    )
    configuration = serializers.CharField(
        default="",
        allow_blank=True,
        trim_whitespace=False,
        help_text="The KubeSchedulerConfiguration (v1) of the recording as YAML; by default the "
        "one in the snapshot, or the default one.",
    )


class RecordedDecisionsView(ControlView):
    """Recorded decisions that are compared."""

    area = Area.LAB

    @extend_schema(
        request=RecordedDecisionsRequestSerializer,
        responses={202: OperationSerializer, 400: ErrorSerializer},
    )
    def post(self, request: Request) -> Response:
        """Compare recorded decisions with ours.

        Starts an operation that decides each pod of a recording of kube-scheduler-simulator again,
        in the state that the recording had, and compares every plugin's result. The output of the
        operation has the counts of each plugin and the pods that differ. The file is read first: an
        error names the line and the field, and nothing is started.
        """
        wanted = RecordedDecisionsRequestSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        typed = wanted.validated_data
        started = recorded_decisions.start(
            typed["recording"], typed["name"], typed["configuration"], actor=get_actor(request)
        )
        return Response(OperationSerializer(started).data, status=status.HTTP_202_ACCEPTED)
