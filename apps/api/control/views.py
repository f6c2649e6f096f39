"""Clusters, and the user's token."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from apps.api.control.base import ControlView, YamlParser, parse_switch
from apps.api.control.cluster_serializers import (
    ClusterSerializer,
    ClusterSettingsSerializer,
    NewClusterSerializer,
)
from apps.api.control.serializers import (
    ErrorSerializer,
    ImportedSerializer,
    TokenSerializer,
)
from apps.cluster.auth import delete_token, replace_token, token_of
from apps.cluster.context import current_request_id
from apps.cluster.models import Cluster
from apps.cluster.queries import cluster_named, clusters
from apps.cluster.writes import Actor
from apps.controlplane.clusters import lifecycle, manifests
from apps.controlplane.clusters import settings as cluster_settings

_REFUSALS = {400: ErrorSerializer, 404: ErrorSerializer, 422: ErrorSerializer}


class ClusterViewSet(
    ControlView, mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[Cluster]
):
    """Mock clusters."""

    queryset = clusters()
    serializer_class = ClusterSerializer
    lookup_field = "name"
    lookup_value_regex = "[^/]+"

    def get_object(self) -> Cluster:
        return cluster_named(self.kwargs["name"])

    @extend_schema(request=NewClusterSerializer, responses={201: ClusterSerializer, **_REFUSALS})
    def create(self, request: Request) -> Response:
        """Create a cluster with the built-in objects, the built-in profile and some nodes."""
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
        """Change settings; running loops use them at once."""
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
        """Delete a cluster; its history is retained under its id, or deleted too."""
        lifecycle.delete_cluster(
            self.get_object(),
            with_history=parse_switch(request, "with_history"),
            user=request.user.get_username(),
        )
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, name: str) -> Response:
        """Stop scheduling; attempts in flight are finished or undone."""
        cluster = self.get_object()
        lifecycle.pause(cluster)
        cluster.paused = True
        return Response(self.get_serializer(cluster).data)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, name: str) -> Response:
        """Resume scheduling, with all changes made in the meantime."""
        cluster = self.get_object()
        lifecycle.resume(cluster)
        cluster.paused = False
        return Response(self.get_serializer(cluster).data)

    @extend_schema(
        request={"application/yaml": OpenApiTypes.STR},
        responses={201: ImportedSerializer, **_REFUSALS},
    )
    @action(detail=True, methods=["post"], url_path="import", parser_classes=[YamlParser])
    def import_objects(self, request: Request, name: str) -> Response:
        """Create every object of a YAML stream, or none; an error names its document and field."""
        actor = Actor(request.user.get_username(), current_request_id())
        sent: Any = request.data
        created = manifests.import_yaml(self.get_object(), sent["yaml"], actor=actor)
        names = [
            f"{body['kind']} "
            + "/".join(filter(None, (body["metadata"].get("namespace"), body["metadata"]["name"])))
            for body in created
        ]
        return Response({"created": len(names), "objects": names}, status=201)

    @extend_schema(responses={(200, "application/yaml"): OpenApiTypes.STR})
    @action(detail=True, methods=["get"])
    def export(self, request: Request, name: str) -> HttpResponse:
        """Every object as a YAML stream, which `import` accepts."""
        text = manifests.export_yaml(self.get_object())
        return HttpResponse(text, content_type="application/yaml")


class TokenView(ControlView):
    """The bearer token of the user."""

    @extend_schema(responses=TokenSerializer)
    def get(self, request: Request) -> Response:
        """The user's token; created with the first request."""
        user: Any = request.user
        return Response({"user": request.user.get_username(), "token": token_of(user)})

    @extend_schema(request=None, responses={201: TokenSerializer})
    def post(self, request: Request) -> Response:
        """Replace the token; the old one is no longer valid."""
        user: Any = request.user
        body = {"user": request.user.get_username(), "token": replace_token(user)}
        return Response(body, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request) -> Response:
        """Delete the token; it is no longer valid."""
        user: Any = request.user
        delete_token(user)
        return Response(status=status.HTTP_204_NO_CONTENT)
