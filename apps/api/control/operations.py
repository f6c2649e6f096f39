"""Long-running operations: list, progress, cancelling; copies, exports and drains."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from apps.administration.clusters import bulk, lifecycle
from apps.administration.clusters.bulk import BulkAction
from apps.administration.operations import service
from apps.administration.operations.drain import DEFAULT_TIMEOUT
from apps.api.control.base import YAML_FILES, ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.paging import PAGING, NewestFirst
from apps.api.control.request_shapes import StrictSerializer
from apps.api.control.serializers import ErrorSerializer
from apps.cluster import kinds, limits, queries
from apps.cluster.access.gate import require_role
from apps.cluster.context import current_request_id
from apps.cluster.errors import BadRequest
from apps.cluster.queries import cluster_named
from apps.cluster.roles import Role
from apps.cluster.writes import SITE_MANAGER, Actor
from apps.engine.models import Operation
from apps.engine.profiles import private_keys

_MISSING = {404: ErrorSerializer}
_REFUSALS = {404: ErrorSerializer, 409: ErrorSerializer, 422: ErrorSerializer}


class OperationSerializer(serializers.ModelSerializer[Operation]):
    cluster = serializers.CharField(
        source="cluster.name",
        default=None,
        allow_null=True,
        help_text="Null until the cluster is created.",
    )

    class Meta:
        model = Operation
        fields = (
            "id",
            "kind",
            "title",
            "cluster",
            "state",
            "done",
            "total",
            "message",
            "cause",
            "cancel_requested",
            "attempts",
            "output_name",
            "user",
            "request_id",
            "created_at",
            "started_at",
            "finished_at",
        )


class CopySerializer(StrictSerializer):
    name = serializers.CharField(help_text="Name of the copy.")
    paused = serializers.BooleanField(default=True)


class DrainSerializer(StrictSerializer):
    force = serializers.BooleanField(
        default=False, help_text="Also evict pods that no controller replaces."
    )
    timeout_seconds = serializers.IntegerField(
        default=DEFAULT_TIMEOUT, min_value=1, max_value=limits.DRAIN_SECONDS.highest
    )


class OperationViewSet(ControlView, GenericViewSet[Operation]):
    """Long-running operations, newest first."""

    area = Area.OPERATIONS
    path_help = {"id": "Id of the operation."}
    queryset = Operation.objects.none()
    serializer_class = OperationSerializer
    pagination_class = NewestFirst
    lookup_value_regex = r"\d{1,18}"

    @extend_schema(
        parameters=[
            OpenApiParameter("cluster", str, description="Name of a cluster."),
            OpenApiParameter("state", str, enum=Operation.State.values),
        ],
        responses={
            200: OperationSerializer(many=True),
            400: ErrorSerializer,
            404: ErrorSerializer,
        },
    )
    def list(self, request: Request) -> Response:
        """List operations.

        Those that have not ended, and those of the last 30 days, newest first.
        """
        reject_unknown(request, ("cluster", "state", *PAGING, "format"))
        matches = service.operations_for(request.user)
        if name := request.query_params.get("cluster"):
            require_role(request.user, name, name, Role.VIEWER)
            matches = matches.filter(cluster=cluster_named(name))
        if state := request.query_params.get("state"):
            if state not in Operation.State.values:
                raise BadRequest(
                    f"state: {state!r} is not one of {', '.join(Operation.State.values)}"
                )
            matches = matches.filter(state=state)
        rows = self.paginate_queryset(matches)
        return self.get_paginated_response(self.get_serializer(rows, many=True).data)

    @extend_schema(responses={200: OperationSerializer, **_MISSING})
    def retrieve(self, request: Request, pk: str) -> Response:
        """Read an operation.

        Its state, its progress (`done` of `total`), and the `cause` of a failure.
        """
        return Response(self.get_serializer(service.get_operation(int(pk))).data)

    @extend_schema(
        request=None, responses={200: OperationSerializer, **_MISSING, 409: ErrorSerializer}
    )
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Cancel an operation.

        It ends at its next step. Imports and copies are rolled back; a drain leaves the node
        cordoned.
        """
        operation = service.cancel(service.get_operation(int(pk)))
        return Response(self.get_serializer(operation).data)

    @extend_schema(responses={(200, "application/yaml"): OpenApiTypes.STR, 404: ErrorSerializer})
    @action(detail=True, methods=["get"], renderer_classes=YAML_FILES)
    def output(self, request: Request, pk: str) -> HttpResponse:
        """Download the output of an operation.

        The file that an export wrote.
        """
        name, text = service.download(int(pk), user=request.user)
        return HttpResponse(text, content_type=service.content_type_of(name))


class CopyView(ControlView):
    """Copies of a cluster."""

    area = Area.CLUSTERS

    @extend_schema(
        request=CopySerializer,
        responses={202: OperationSerializer, 400: ErrorSerializer, **_REFUSALS},
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Copy a cluster.

        Starts an operation that copies the objects and the active profile, as they are at one
        version, to a new cluster. A viewer cannot copy a cluster that has, or had, Secrets.
        """
        source = cluster_named(cluster)
        wanted = CopySerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        private_keys.require_copying(request.user, source)
        lifecycle.check_new(wanted.validated_data["name"])
        title = f"Copy cluster {source.name} as {wanted.validated_data['name']}"
        arguments = {"source": source.pk, **wanted.validated_data}
        return _accept(service.start("copy", title, actor=get_actor(request), arguments=arguments))


class ExportView(ControlView):
    """Exports of a cluster as an operation."""

    area = Area.OBJECTS

    @extend_schema(request=None, responses={202: OperationSerializer, **_MISSING})
    def post(self, request: Request, cluster: str) -> Response:
        """Export all objects as an operation.

        Starts an operation that writes every object as YAML; `/operations/{id}/output` returns the
        file. The file of a viewer has no Secrets, and viewers cannot download one that may.
        """
        target = cluster_named(cluster)
        return _accept(service.start_export(target, user=request.user, actor=get_actor(request)))


class BulkSerializer(StrictSerializer):
    resource = serializers.ChoiceField(["nodes", "pods"])
    action = serializers.CharField(
        help_text="For nodes cordon, uncordon, drain, taint, untaint, label, annotate or delete; "
        "for pods label, annotate, evict or delete."
    )
    names = serializers.ListField(
        child=serializers.CharField(),
        min_length=1,
        max_length=limits.BULK.highest,
        help_text="Names of nodes, or pods as `namespace/name`.",
    )
    text = serializers.CharField(
        default="",
        allow_blank=True,
        help_text="A taint `key=value:Effect`, a label or an annotation `key=value`; a trailing "
        "`-` removes it.",
    )
    force = serializers.BooleanField(
        default=False, help_text="Of drain: also evict pods that no controller replaces."
    )
    timeout_seconds = serializers.IntegerField(
        default=DEFAULT_TIMEOUT,
        min_value=1,
        max_value=limits.DRAIN_SECONDS.highest,
        help_text="Of drain.",
    )


class BulkView(ControlView):
    """One action on many nodes or pods."""

    area = Area.OBJECTS

    @extend_schema(
        request=BulkSerializer,
        responses={202: OperationSerializer, 400: ErrorSerializer, **_REFUSALS},
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Act on many objects.

        Starts an operation that cordons, drains, labels, evicts or deletes nodes or pods. Objects
        whose update is rejected are counted; the others are updated.
        """
        target = cluster_named(cluster)
        wanted = BulkSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        typed = wanted.validated_data
        if typed["resource"] == "nodes" and typed["action"] == "drain":
            kind, title = "drain", f"Drain {bulk.count(len(typed['names']), 'nodes')}"
            arguments = {"force": typed["force"], "timeout": typed["timeout_seconds"]}
        else:
            action = BulkAction(typed["resource"], typed["action"], typed["text"].strip())
            bulk.check(target, action, typed["names"][0], actor=get_actor(request))
            kind, title = "bulk", action.title(len(typed["names"]))
            arguments = {"resource": action.resource, "action": action.name, "text": action.text}
        started = service.start(
            kind,
            title,
            actor=get_actor(request),
            cluster=target,
            arguments=arguments,
            payload={"names": typed["names"]},
        )
        return _accept(started)


class DrainView(ControlView):
    """Drains of a node."""

    area = Area.NODES

    @extend_schema(
        request=DrainSerializer,
        responses={
            202: OperationSerializer,
            400: ErrorSerializer,
            404: ErrorSerializer,
            409: ErrorSerializer,
        },
    )
    def post(self, request: Request, cluster: str, node: str) -> Response:
        """Drain a node.

        Starts an operation that cordons the node and evicts its pods as their disruption budgets
        allow. Only one node of a cluster is drained at a time.
        """
        target = cluster_named(cluster)
        queries.get(target, kinds.NODE, "", node)
        wanted = DrainSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        typed = wanted.validated_data
        arguments = {"node": node, "force": typed["force"], "timeout": typed["timeout_seconds"]}
        title = f"Drain {node}"
        return _accept(
            service.start(
                "drain", title, actor=get_actor(request), cluster=target, arguments=arguments
            )
        )


def _accept(operation: Operation) -> Response:
    return Response(OperationSerializer(operation).data, status=status.HTTP_202_ACCEPTED)


def get_actor(request: Request) -> Actor:
    return Actor(request.user.get_username(), current_request_id(), SITE_MANAGER)
