"""The scheduling queue of a cluster, its history, and manual activation."""

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

from apps.api.control.base import MAX_PAGE, ControlView, NewestFirst, parse_whole_number
from apps.api.control.documentation.areas import Area
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
    position = serializers.IntegerField(
        help_text="From 1, in the order in which pods leave this queue."
    )
    priority = serializers.IntegerField()
    attempts = serializers.IntegerField()
    timestamp = serializers.DateTimeField(
        help_text="When the pod was created, or its last attempt failed."
    )
    backoff_expiry = serializers.DateTimeField(allow_null=True)
    unschedulable_plugins = serializers.ListField(child=serializers.CharField())
    pending_plugins = serializers.ListField(child=serializers.CharField())
    gated_by = serializers.CharField(help_text="The PreEnqueue plugin that gates it.")
    gates = serializers.ListField(
        child=serializers.CharField(), help_text="Names of its scheduling gates."
    )
    nominated_node = serializers.CharField()


class QueueSerializer(serializers.Serializer[Any]):
    summary = serializers.CharField(help_text="activeQ:1; backoffQ:0; unschedulablePods:2")
    sizes = serializers.DictField(child=serializers.IntegerField(), help_text="Pods by queue.")
    queue = serializers.ChoiceField(
        choices=[*QueueEntry.Queue.choices, ("all", "all")], help_text="Which queue `pods` lists."
    )
    total = serializers.IntegerField(help_text="Pods that match the filters.")
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


class QueueListView(ControlView):
    """The pods in the scheduling queue."""

    area = Area.QUEUE

    @extend_schema(
        parameters=[
            OpenApiParameter("queue", str, enum=[*QueueEntry.Queue.values, "all"], default="all"),
            OpenApiParameter(
                "pod", str, description="Part of the name, optionally after `namespace/`."
            ),
            OpenApiParameter("namespace", str),
            OpenApiParameter(
                "plugin", str, description="A plugin that rejected the pod or gates it."
            ),
            OpenApiParameter("limit", int, default=100),
            OpenApiParameter("offset", int, default=0),
        ],
        responses={200: QueueSerializer, **_REFUSALS},
    )
    def get(self, request: Request, cluster: str) -> Response:
        """List the pods in the queue.

        The pods of all parts of the queue, or of one, in the order in which they leave it; and the
        size of each part.
        """
        found = cluster_named(cluster)
        query = request.query_params
        if any("\x00" in value for value in query.values()):
            raise BadRequest("a parameter holds a NUL character")
        name = query.get("queue", "all")
        known = (*QueueEntry.Queue.values, "all")
        if name not in known:
            raise BadRequest(f"queue: {name!r} is not one of {', '.join(known)}")
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
            limit=parse_whole_number(request, "limit", 100, highest=MAX_PAGE),
            offset=parse_whole_number(request, "offset", 0, highest=10**9),
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
    OpenApiParameter(
        "event", str, description="The event that moved it: `NodeAdd`, `ManualActivate` …"
    ),
    OpenApiParameter("plugin", str, description="The plugin whose hint or PreEnqueue decided."),
    OpenApiParameter("since", datetime, description="At or after this time."),
    OpenApiParameter("until", datetime, description="Before this time."),
]


class QueueHistoryView(ControlView, ListAPIView[QueueMove]):
    """Moves between the queues; retained when the pod is deleted."""

    area = Area.QUEUE
    queryset = QueueMove.objects.none()
    serializer_class = QueueMoveSerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> QuerySet[QueueMove]:
        cluster = cluster_named(self.kwargs["cluster"])
        return history.find_moves(cluster, self.request.query_params)

    @extend_schema(
        parameters=_HISTORY, responses={200: QueueMoveSerializer(many=True), **_REFUSALS}
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List moves in the queue.

        Every move of a pod between the parts of the queue, newest first: source, target, event,
        and the plugin and hint that decided. Moves are retained after their pod is deleted.
        """
        return self.list(request, *args, **kwargs)


class QueueActivateView(ControlView):
    """Manual activation."""

    area = Area.QUEUE

    @extend_schema(
        request=ActivationSerializer,
        responses={202: ActivationSerializer, 422: ErrorSerializer, **_REFUSALS},
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Activate pods.

        Moves waiting pods to activeQ, or none if one of them cannot be activated. The history
        records the event `ManualActivate`.
        """
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
