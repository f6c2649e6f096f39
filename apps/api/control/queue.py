"""The scheduling queue of a cluster: who waits where, what moved whom, activation by hand."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.api.control.base import MAX_PAGE, ControlView, NewestFirst, whole_number
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.context import current_request_id
from apps.cluster.errors import BadRequest
from apps.cluster.queries import cluster_named
from apps.controlplane import queries
from apps.controlplane.models import QueueEntry, QueueMove
from apps.controlplane.queue import activation, history, listing

_REFUSALS = {400: ErrorSerializer, 404: ErrorSerializer}


class QueuedPodSerializer(serializers.Serializer[Any]):
    namespace = serializers.CharField()
    name = serializers.CharField()
    uid = serializers.UUIDField()
    queue = serializers.ChoiceField(choices=QueueEntry.Queue.choices)
    position = serializers.IntegerField(help_text="From 1, as pods leave this queue.")
    priority = serializers.IntegerField()
    attempts = serializers.IntegerField()
    timestamp = serializers.DateTimeField(help_text="When it was created, or failed last.")
    backoff_expiry = serializers.DateTimeField(allow_null=True)
    unschedulable_plugins = serializers.ListField(child=serializers.CharField())
    pending_plugins = serializers.ListField(child=serializers.CharField())
    gated_by = serializers.CharField(help_text="The PreEnqueue plugin that keeps it out.")
    gates = serializers.ListField(
        child=serializers.CharField(), help_text="Names of its scheduling gates."
    )
    nominated_node = serializers.CharField()


class QueueSerializer(serializers.Serializer[Any]):
    summary = serializers.CharField(help_text="activeQ:1; backoffQ:0; unschedulablePods:2")
    sizes = serializers.DictField(child=serializers.IntegerField(), help_text="Pods by queue.")
    queue = serializers.ChoiceField(
        choices=[*QueueEntry.Queue.choices, ("all", "all")], help_text="Which of them is shown."
    )
    total = serializers.IntegerField(help_text="Pods that the filters let pass.")
    pods = QueuedPodSerializer(many=True, help_text="In the order in which they leave the queue.")


class QueueMoveSerializer(serializers.ModelSerializer[QueueMove]):
    class Meta:
        model = QueueMove
        fields = (
            "id",
            "namespace",
            "name",
            "pod_uid",
            "at",
            "source",
            "target",
            "event",
            "plugin",
            "hint",
            "reason",
            "attempt",
        )


class ActivationSerializer(serializers.Serializer[Any]):
    pods = serializers.ListField(
        child=serializers.CharField(),
        allow_empty=False,
        max_length=activation.MAX_PODS,
        help_text="`namespace/name` of each.",
    )


class QueueView(ControlView, APIView):
    """Who waits."""

    @extend_schema(
        parameters=[
            OpenApiParameter("queue", str, enum=[*QueueEntry.Queue.values, "all"], default="all"),
            OpenApiParameter("pod", str, description="Part of the name; `namespace/` in front."),
            OpenApiParameter("namespace", str),
            OpenApiParameter("plugin", str, description="Rejected the pod, or gates it."),
            OpenApiParameter("limit", int, default=100),
            OpenApiParameter("offset", int, default=0),
        ],
        responses={200: QueueSerializer, **_REFUSALS},
    )
    def get(self, request: Request, cluster: str) -> Response:
        """All waiting pods in exact order, or those of one sub-queue; and all sizes."""
        found = cluster_named(cluster)
        query = request.query_params
        if any("\x00" in value for value in query.values()):
            raise BadRequest("a parameter holds a NUL character")
        name = query.get("queue", "all")
        known = (*QueueEntry.Queue.values, "all")
        if name not in known:
            raise BadRequest(f"queue: {name!r} is none of {', '.join(known)}")
        wanted = listing.QueueFilter(
            queue="" if name == "all" else name,
            pod=query.get("pod", ""),
            namespace=query.get("namespace", ""),
            plugin=query.get("plugin", ""),
        )
        sizes = queries.count_pods_by_queue(found)
        pods = listing.list_pods(
            found,
            wanted,
            limit=whole_number(request, "limit", 100, highest=MAX_PAGE),
            offset=whole_number(request, "offset", 0, highest=10**9),
        )
        body = {
            "summary": listing.summarize(sizes),
            "sizes": {key.value: size for key, size in sizes.items()},
            "queue": name,
            "total": listing.count_pods(found, wanted, sizes),
            "pods": pods,
        }
        return Response(QueueSerializer(body).data)


_HISTORY = [
    OpenApiParameter("pod", str, description="`namespace/name`, or a name in any namespace."),
    OpenApiParameter("pod_uid", UUID),
    OpenApiParameter("event", str, description="What moved it: `NodeAdd`, `ManualActivate` …"),
    OpenApiParameter("plugin", str, description="Whose hint, or whose PreEnqueue, decided."),
    OpenApiParameter("since", datetime, description="At or after this time."),
    OpenApiParameter("until", datetime, description="Before this time."),
]


class QueueHistoryView(ControlView, ListAPIView[QueueMove]):
    """Moves between the queues; kept when the pod is gone."""

    queryset = QueueMove.objects.none()
    serializer_class = QueueMoveSerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> QuerySet[QueueMove]:
        cluster = cluster_named(self.kwargs["cluster"])
        return history.find_moves(cluster, self.request.query_params)

    @extend_schema(parameters=_HISTORY, responses={200: QueueMoveSerializer(many=True)})
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Every move: from, to, the event, the plugin and hint that decided; newest first."""
        return self.list(request, *args, **kwargs)


class QueueActivateView(ControlView, APIView):
    """Activation by hand."""

    @extend_schema(
        request=ActivationSerializer,
        responses={202: ActivationSerializer, 422: ErrorSerializer, **_REFUSALS},
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Have waiting pods tried at once; the history tells it as ManualActivate."""
        found = cluster_named(cluster)
        wanted = ActivationSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        activation.activate(
            found,
            wanted.validated_data["pods"],
            user=request.user.get_username(),
            request_id=current_request_id(),
        )
        return Response(wanted.data, status=202)
