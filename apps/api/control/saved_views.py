"""Saved views of a cluster's decisions."""

from __future__ import annotations

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.paging import PAGING, NewestFirst
from apps.api.control.request_shapes import StrictSerializer
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.queries import cluster_named
from apps.engine.ledger import saved_views
from apps.engine.models import SavedView

_ERRORS = {400: ErrorSerializer, 404: ErrorSerializer, 409: ErrorSerializer}


class SavedViewSerializer(serializers.ModelSerializer[SavedView]):
    class Meta:
        model = SavedView
        fields = ("id", "name", "user", "shared", "query", "created_at")


class NewSavedViewSerializer(StrictSerializer):
    name = serializers.CharField(
        max_length=saved_views.MAX_NAME, help_text="Unique among your views of the cluster."
    )
    query = serializers.DictField(
        child=serializers.CharField(allow_blank=True),
        default=dict,
        help_text="Filters of the list of decisions, `group` and `sort`, by their names.",
    )
    shared = serializers.BooleanField(default=False, help_text="Other users see the view.")


@extend_schema_view(
    list=extend_schema(
        summary="List saved views",
        description="Your saved views of the cluster's decisions, and those that others share.",
        responses={200: SavedViewSerializer(many=True), 404: ErrorSerializer},
    ),
    retrieve=extend_schema(
        summary="Read a saved view",
        description="A view of your own, or one that its user shares.",
        responses={200: SavedViewSerializer, 404: ErrorSerializer},
    ),
)
class SavedViewViewSet(
    ControlView, mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[SavedView]
):
    """Your saved views of the decisions of a cluster, and those that others share."""

    area = Area.SAVED_VIEWS
    path_help = {"id": "Id of the saved view."}
    queryset = SavedView.objects.none()
    serializer_class = SavedViewSerializer
    pagination_class = NewestFirst
    lookup_value_regex = r"\d{1,18}"

    def get_queryset(self) -> QuerySet[SavedView]:
        reject_unknown(self.request, (*PAGING, "format"))
        cluster = cluster_named(self.kwargs["cluster"])
        return saved_views.list_views(cluster, self.request.user.get_username())

    def get_object(self) -> SavedView:
        reject_unknown(self.request, (*PAGING, "format"))
        cluster = cluster_named(self.kwargs["cluster"])
        return saved_views.get_view(
            cluster, int(self.kwargs["pk"]), self.request.user.get_username()
        )

    @extend_schema(request=NewSavedViewSerializer, responses={201: SavedViewSerializer, **_ERRORS})
    def create(self, request: Request, cluster: str) -> Response:
        """Save a view.

        A name for filters, grouping and sorting of the cluster's decisions.
        """
        wanted = NewSavedViewSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        view = saved_views.create_view(
            cluster_named(cluster), request.user.get_username(), **wanted.validated_data
        )
        return Response(self.get_serializer(view).data, status=status.HTTP_201_CREATED)

    @extend_schema(
        request=NewSavedViewSerializer,
        responses={200: SavedViewSerializer, 403: ErrorSerializer, **_ERRORS},
    )
    def partial_update(self, request: Request, cluster: str, pk: str) -> Response:
        """Change a saved view.

        Renames, shares or changes a view of your own.
        """
        wanted = NewSavedViewSerializer(data=request.data, partial=True)
        wanted.is_valid(raise_exception=True)
        view = saved_views.update_view(
            self.get_object(), request.user.get_username(), **wanted.validated_data
        )
        return Response(self.get_serializer(view).data)

    @extend_schema(responses={204: None, 403: ErrorSerializer, 404: ErrorSerializer})
    def destroy(self, request: Request, cluster: str, pk: str) -> Response:
        """Delete a saved view.

        Only a view of your own can be deleted.
        """
        saved_views.delete_view(self.get_object(), request.user.get_username())
        return Response(status=status.HTTP_204_NO_CONTENT)
