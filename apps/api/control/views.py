"""Clusters."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from apps.administration.clusters import lifecycle, manifests
from apps.administration.clusters import settings as cluster_settings
from apps.api.control.answers import answer
from apps.api.control.base import YAML_FILES, ControlView, parse_switch
from apps.api.control.cluster_serializers import (
    ClusterSerializer,
    ClusterSettingsSerializer,
    NewClusterSerializer,
)
from apps.api.control.documentation.areas import Area
from apps.api.control.parsers import FILE_MEDIA_TYPES, FILE_PARSERS
from apps.api.control.serializers import (
    ErrorSerializer,
)
from apps.cluster.access import confidential
from apps.cluster.access.reach import reach_of
from apps.cluster.context import current_request_id
from apps.cluster.manifests.text_files import read_files
from apps.cluster.models import Cluster
from apps.cluster.queries import cluster_named, clusters
from apps.cluster.writes import SITE_MANAGER, Actor

_NEW_REFUSALS = {400: ErrorSerializer, 409: ErrorSerializer, 422: ErrorSerializer}
_REFUSALS = {400: ErrorSerializer, 404: ErrorSerializer, 422: ErrorSerializer}


@extend_schema_view(
    list=extend_schema(
        summary="List clusters",
        description="All clusters with their settings, by name.",
    ),
    retrieve=extend_schema(
        summary="Read a cluster",
        description="A cluster, its settings, its present version, and the root of its Kubernetes "
        "API.",
    ),
)
class ClusterViewSet(
    ControlView, mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Cluster]
):
    """Mock clusters."""

    area = Area.CLUSTERS
    path_help = {"name": "Name of the cluster."}
    queryset = Cluster.objects.none()
    serializer_class = ClusterSerializer
    lookup_field = "name"
    lookup_value_regex = "[^/]+"

    def get_queryset(self) -> QuerySet[Cluster]:
        return reach_of(self.request.user).restrict(clusters(), "pk")

    def get_object(self) -> Cluster:
        return cluster_named(self.kwargs["name"])

    @extend_schema(
        request=NewClusterSerializer, responses={201: ClusterSerializer, **_NEW_REFUSALS}
    )
    def create(self, request: Request) -> Response:
        """Create a cluster.

        It has the built-in namespaces and priority classes, the default scheduler profile, and
        `nodes` ready nodes. It is scheduled at once unless it is `paused`.
        """
        wanted = NewClusterSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        cluster = lifecycle.create_cluster(
            **wanted.validated_data,
            user=request.user.get_username(),
            request_id=current_request_id(),
        )
        body = self.get_serializer(cluster).data
        return Response(body, status=status.HTTP_201_CREATED)

    @extend_schema(
        request=ClusterSettingsSerializer, responses={200: ClusterSerializer, **_REFUSALS}
    )
    def partial_update(self, request: Request, name: str) -> Response:
        """Change the settings of a cluster.

        Settings that the body omits stay as they are. The scheduler uses the new ones at once.
        """
        cluster = self.get_object()
        wanted = ClusterSettingsSerializer(data=request.data, partial=True)
        wanted.is_valid(raise_exception=True)
        sent: Any = request.data
        cluster_settings.check_changeable(sent)
        cluster_settings.change_settings(cluster, wanted.validated_data)
        return Response(self.get_serializer(cluster).data)

    @extend_schema(
        parameters=[OpenApiParameter("with_history", bool, default=False)],
        responses={204: None, 400: ErrorSerializer, 404: ErrorSerializer},
    )
    def destroy(self, request: Request, name: str) -> Response:
        """Delete a cluster.

        Its decisions and changes are retained under its id (see History), unless `with_history`
        is true.
        """
        lifecycle.delete_cluster(
            self.get_object(),
            with_history=parse_switch(request, "with_history"),
            user=request.user.get_username(),
        )
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, name: str) -> Response:
        """Pause a cluster.

        A paused cluster has no scheduling and no controllers. Attempts in flight are finished or
        undone. Its Kubernetes API continues to work.
        """
        cluster = self.get_object()
        lifecycle.pause(cluster)
        cluster.paused = True
        return Response(self.get_serializer(cluster).data)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, name: str) -> Response:
        """Resume a cluster.

        Scheduling continues with all changes since the cluster was paused.
        """
        cluster = self.get_object()
        lifecycle.resume(cluster)
        cluster.paused = False
        return Response(self.get_serializer(cluster).data)

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "keep_uids", bool, default=False, description="Objects keep the uids they have."
            ),
            OpenApiParameter(
                "strict",
                bool,
                default=False,
                description="Refuse objects that refer to namespaces, priority classes, runtime "
                "classes and service accounts that do not exist, instead of adding these.",
            ),
        ],
        request={
            **dict.fromkeys(FILE_MEDIA_TYPES[:1], OpenApiTypes.STR),
            **dict.fromkeys(FILE_MEDIA_TYPES[1:], OpenApiTypes.BINARY),
            "multipart/form-data": {
                "type": "object",
                "additionalProperties": {"type": "string", "format": "binary"},
            },
        },
        responses={201: manifests.Imported, 400: ErrorSerializer, 404: ErrorSerializer},
        tags=[Area.OBJECTS.title],
    )
    @action(detail=True, methods=["post"], url_path="import", parser_classes=FILE_PARSERS)
    def import_objects(self, request: Request, name: str) -> Response:
        """Import objects.

        Creates every object of the files, or none: YAML, JSON, an object on each line, what
        `kubectl cluster-info dump` prints or writes, gzip, tar and zip, up to 64 MiB. A form may
        have any number of files. An error names the file, the document, the line and the field; all
        of them are found at once, up to a hundred. Objects keep their statuses and times. Objects
        of APIs that the cluster does not serve are skipped; the response counts them, and names
        what was added because other objects refer to it.
        """
        actor = Actor(request.user.get_username(), current_request_id(), SITE_MANAGER)
        sent: Any = request.data
        # a request without a body has no text
        options = manifests.Options(
            keep_uids=parse_switch(request, "keep_uids"), strict=parse_switch(request, "strict")
        )
        texts = read_files(sent.get("files", ()))
        imported = manifests.import_texts(self.get_object(), texts, actor=actor, options=options)
        return answer(imported, status=201)

    @extend_schema(
        responses={(200, "application/yaml"): OpenApiTypes.STR}, tags=[Area.OBJECTS.title]
    )
    @action(detail=True, methods=["get"], renderer_classes=YAML_FILES)
    def export(self, request: Request, name: str) -> HttpResponse:
        """Export all objects.

        A YAML stream that the import accepts. Events are omitted. For large clusters, start an
        export as an operation instead. Viewers get no Secrets.
        """
        cluster = self.get_object()
        without = confidential.hidden_kinds(request.user, cluster)
        text = manifests.export_yaml(cluster, without=without)
        return HttpResponse(text, content_type="application/yaml")
