"""The real cluster that a shadow follows."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.administration.shadows.creating import find_shadow
from apps.api.control.base import ControlView
from apps.api.control.documentation.areas import Area
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.errors import NotFound
from apps.cluster.queries import cluster_named
from apps.engine.models import Shadow


class ShadowSerializer(serializers.ModelSerializer[Shadow]):
    class Meta:
        model = Shadow
        fields = ("server", "context", "followed_at", "faults")
        extra_kwargs = {
            "server": {"help_text": "Address of its API server."},
            "context": {"help_text": "Context of the kubeconfig."},
            "followed_at": {"help_text": "Until when it was followed; null before the first time."},
            "faults": {"help_text": "Kinds that cannot be followed, and why."},
        }


class ShadowView(ControlView):
    """What a shadow follows."""

    area = Area.CLUSTERS

    @extend_schema(responses={200: ShadowSerializer, 404: ErrorSerializer})
    def get(self, request: Request, cluster: str) -> Response:
        """The real cluster that a shadow follows.

        404 if the cluster is no shadow. `manage.py shadow` creates shadows.
        """
        shadow = find_shadow(cluster_named(cluster))
        if shadow is None:
            raise NotFound("shadows", cluster)
        return Response(ShadowSerializer(shadow).data)
