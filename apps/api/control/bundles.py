"""Bundles of decisions: one file to download, and to open in any installation."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.answers import ResultField
from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.explanations import parse_number
from apps.api.control.recorded import FileErrors
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.errors import BadRequest
from apps.cluster.queries import cluster_named
from apps.engine import queries
from apps.engine.models import SchedulingDecision
from apps.studies.bundles.building import bundle_of
from apps.studies.bundles.contents import MAX_FILE, MEDIA_TYPE
from apps.studies.bundles.opening import open_bundle
from apps.studies.bundles.presenting import BundleContents, present_bundle
from apps.studies.explanations.explained_decisions import DecisionExplanation


class _BundleRenderer(BaseRenderer):
    """Negotiates the file; it renders only errors."""

    media_type, format, charset = MEDIA_TYPE, "bundle", None

    def render(self, data: Any, media_type: Any = None, context: Any = None) -> bytes:
        return JSONRenderer().render(data)


class BundleParser(BaseParser):
    """The file of a bundle: `request.data["bundle"]`."""

    media_type = MEDIA_TYPE

    def parse(
        self, stream: Any, media_type: Any = None, parser_context: Any = None
    ) -> dict[str, bytes]:
        return {"bundle": stream.read(MAX_FILE + 1)}


class _RecordedSerializer(serializers.ModelSerializer[SchedulingDecision]):
    class Meta:
        model = SchedulingDecision
        fields = (
            *("id", "namespace", "name", "pod_uid", "attempt", "at", "scheduler_name"),
            *("profile_revision", "result", "node", "nominated_node", "message"),
            *("feasible_nodes", "total_score"),
        )
        read_only_fields = fields
        extra_kwargs = {"id": {"help_text": "In the installation that wrote the bundle."}}


class OpenedBundleSerializer(serializers.Serializer[Any]):
    bundle = ResultField(BundleContents)
    decision = _RecordedSerializer()
    is_equal = serializers.BooleanField(
        help_text="Whether the decision is the same when it is decided again from the bundle."
    )
    differences = serializers.ListField(
        child=serializers.CharField(), help_text="`what: recorded -> recomputed`"
    )
    explanation = ResultField(DecisionExplanation)


class DecisionBundleView(FileErrors):
    """The bundle of a decision."""

    area = Area.LAB
    path_help = {"number": "Id of the decision."}
    renderer_classes = [_BundleRenderer]

    @extend_schema(
        responses={
            (200, MEDIA_TYPE): OpenApiTypes.BINARY,
            400: ErrorSerializer,
            404: ErrorSerializer,
        }
    )
    def get(self, request: Request, cluster: str, number: str) -> HttpResponse:
        """Download the bundle of a decision.

        One file with the state that the decision saw, its configuration, its draws and its result,
        without what it did not read. It can be opened and checked in any installation, and with
        `manage.py bundle verify` without one.
        """
        reject_unknown(request, {"format"})
        row = queries.decision_numbered(parse_number(number), cluster_named(cluster))
        bundle = bundle_of(row)
        response = HttpResponse(bundle.data, content_type=MEDIA_TYPE)
        response["Content-Disposition"] = f'attachment; filename="{bundle.name}"'
        return response


class BundlesView(ControlView):
    """Bundles are opened, and not stored."""

    area = Area.LAB
    parser_classes = [BundleParser]

    @extend_schema(
        request={MEDIA_TYPE: OpenApiTypes.BINARY},
        parameters=[
            OpenApiParameter("node", str, description="Explain this node, too."),
            OpenApiParameter("against", str, description="A second node, compared with `node`."),
        ],
        responses={200: OpenedBundleSerializer, 400: ErrorSerializer},
    )
    def post(self, request: Request) -> Response:
        """Open a bundle.

        Decides the decision in the file again, says whether the result is equal, and explains it
        as a recorded decision of this installation. Nothing is stored.
        """
        reject_unknown(request, {"node", "against"})
        # without a body, no parser is asked
        data = request.data.get("bundle", b"") if isinstance(request.data, dict) else b""
        node, against = (request.query_params.get(name, "") for name in ("node", "against"))
        if against and not node:
            raise BadRequest("against: requires `node`, which it is compared with")
        presented = present_bundle(open_bundle(data), node=node, against=against)
        return Response(OpenedBundleSerializer(presented).data)
