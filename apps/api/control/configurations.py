"""Feature gates, and the conversion of configurations of earlier releases."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.answers import answer
from apps.api.control.base import ControlView, parse_switch, parse_whole_number
from apps.api.control.documentation.areas import Area
from apps.api.control.parsers import JsonParser, YamlParser
from apps.api.control.profile_serializers import (
    OldConfigurationSerializer,
)
from apps.api.control.profiles import YAML, read_configuration
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.queries import cluster_named
from apps.engine.profiles.gates import GateList, list_gates
from apps.engine.profiles.plugins import convert
from apps.scheduler.config.conversion import Conversion

_REFUSALS = {400: ErrorSerializer, 404: ErrorSerializer, 422: ErrorSerializer}


class FeatureGateListView(ControlView):
    """The feature gates of a configuration."""

    area = Area.PROFILES

    @extend_schema(
        parameters=[
            OpenApiParameter("revision", int, description="Default: the active revision."),
            OpenApiParameter(
                "all", bool, description="Also the gates that do not concern scheduling."
            ),
        ],
        responses={200: GateList, 400: ErrorSerializer, 404: ErrorSerializer},
    )
    def get(self, request: Request, cluster: str) -> Response:
        """List feature gates.

        The gates of Kubernetes 1.36 with stage, default and lock, what each does in this
        scheduler, and its value in a revision. A configuration sets them in `featureGates`.
        """
        row = cluster_named(cluster)
        number = parse_whole_number(request, "revision", 0, highest=10**9)
        everything = parse_switch(request, "all")
        return answer(list_gates(row, number, everything=everything))


class ConversionView(ControlView):
    """The conversion of an older configuration."""

    area = Area.PROFILES
    parser_classes = [JsonParser, YamlParser]

    @extend_schema(
        request={"application/json": OldConfigurationSerializer, YAML: OpenApiTypes.STR},
        responses={200: Conversion, **_REFUSALS},
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Convert an older configuration.

        Rewrites a KubeSchedulerConfiguration of an earlier version, or a Policy, as v1, so that
        decisions stay those of its release; `notes` say what differs. Stores nothing. A body of
        YAML is the configuration itself.
        """
        cluster_named(cluster)
        wanted = OldConfigurationSerializer(data=read_configuration(request))
        wanted.is_valid(raise_exception=True)
        typed = wanted.validated_data
        conversion = convert(
            typed["configuration"],
            policy=typed.get("policy"),
            feature_gates=typed["feature_gates"],
        )
        return answer(conversion)
