"""Deleted clusters whose history is retained."""

from __future__ import annotations

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from apps.api.control.base import ControlView
from apps.api.control.cluster_serializers import PastClusterSerializer
from apps.api.control.documentation.areas import Area
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.access.reach import reach_of
from apps.engine.models import PastCluster
from apps.studies.history import past_clusters


@extend_schema_view(
    list=extend_schema(
        summary="List deleted clusters",
        description="Those whose history is retained, the latest deletion first.",
    ),
    retrieve=extend_schema(
        summary="Read a deleted cluster",
        description="Its decisions are below `/history/clusters/{cluster_id}/decisions`.",
        responses={200: PastClusterSerializer, 404: ErrorSerializer},
    ),
)
class PastClusterViewSet(
    ControlView, mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[PastCluster]
):
    """Deleted clusters, the latest deletion first; their decisions are below their addresses."""

    area = Area.HISTORY
    path_help = {"id": "Id of the deleted cluster."}
    queryset = PastCluster.objects.none()
    serializer_class = PastClusterSerializer
    lookup_field = "id"
    lookup_value_regex = r"\d{1,18}"

    def get_queryset(self) -> QuerySet[PastCluster]:
        return past_clusters.list_past_clusters(reach_of(self.request.user))

    def get_object(self) -> PastCluster:
        return past_clusters.get_past_cluster(int(self.kwargs["id"]))

    @extend_schema(responses={204: None, 404: ErrorSerializer})
    def destroy(self, request: Request, id: str) -> Response:
        """Delete the history of a deleted cluster.

        Deletes its decisions and changes. This cannot be undone.
        """
        past_clusters.delete_past_cluster(self.get_object())
        return Response(status=204)
