"""Questions about a cluster that is sent and not kept."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.administration.pasted.asking import PastedCluster
from apps.administration.pasted.confined import ask_confined
from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.request_shapes import StrictSerializer
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.manifests.text_files import Text


class PastedRequestSerializer(StrictSerializer):
    manifest = serializers.CharField(
        trim_whitespace=False,
        help_text="YAML or JSON, such as `kubectl get nodes,pods -A -o yaml` prints.",
    )
    configuration = serializers.CharField(
        default="",
        allow_blank=True,
        trim_whitespace=False,
        help_text="A KubeSchedulerConfiguration (v1), compared with kube-scheduler's defaults.",
    )


class PastedClusterView(ControlView):
    """A cluster is asked, and not stored."""

    area = Area.LAB

    @extend_schema(
        request=PastedRequestSerializer, responses={200: PastedCluster, 400: ErrorSerializer}
    )
    def post(self, request: Request) -> Response:
        """Ask a pasted cluster.

        Which of its pods never run, and why; which of its nodes could be emptied; and what a
        scheduler configuration would place and save, compared with the defaults. The objects are
        imported as by `import`, and nothing is stored. A cluster that takes more than a minute is
        refused.
        """
        reject_unknown(request, ("format",))
        wanted = PastedRequestSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        typed = wanted.validated_data
        user = request.user.get_username()
        texts = [Text("", typed["manifest"])]
        return Response(ask_confined(texts, typed["configuration"], user=user))
