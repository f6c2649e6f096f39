"""The scheduling queue of a cluster, its history, and manual activation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, cast
from uuid import UUID

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.answers import answer
from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.paging import (
    PAGING,
    NewestFirst,
    PageLinks,
    page_parameters,
    read_page,
)
from apps.api.control.recorded import FILES, FORMAT, PERIOD, FileView, recorded_cluster
from apps.api.control.request_shapes import StrictSerializer
from apps.api.control.serializers import ErrorSerializer
from apps.cluster import limits
from apps.cluster.context import current_request_id
from apps.cluster.errors import BadRequest
from apps.cluster.queries import cluster_named
from apps.engine.models import QueueMove
from apps.engine.queue import activation, history, listing, past
from apps.engine.queue.listing import Part, QueuedPod
from apps.engine.queue.past import PastQueue

_REFUSALS = {400: ErrorSerializer, 404: ErrorSerializer}


#: The parameters of the present queue.
_QUEUE_PARAMETERS = ("queue", "pod", "namespace", "plugin", *PAGING, "format")


_QueueName: TypeAlias = Literal["active", "backoff", "unschedulable", "gated", "permit", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue(PageLinks):
    #: `activeQ:1; backoffQ:0; unschedulablePods:2`
    summary: str
    #: pods by queue
    sizes: Mapping[Part, int]
    #: which part `pods` lists
    queue: _QueueName
    #: how many pods have been popped
    scheduling_cycle: int
    #: the scheduling cycle in which an event last asked to move pods
    move_request_cycle: int
    #: pods that match the filters
    total: int
    #: in the order in which they leave the queue
    pods: Sequence[QueuedPod]


@dataclass(frozen=True, kw_only=True)
class PastQueuePage(PageLinks, PastQueue):
    ANSWER: ClassVar[tuple[str, ...]] = ("next", "previous", *PastQueue.ANSWER)


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


class ActivationSerializer(StrictSerializer):
    pods = serializers.ListField(
        child=serializers.CharField(),
        allow_empty=False,
        max_length=limits.ACTIVATED_PODS.highest,
        help_text="`namespace/name` of each.",
    )


class QueueListView(ControlView):
    """The pods in the scheduling queue."""

    area = Area.QUEUE

    @extend_schema(
        parameters=[
            OpenApiParameter("queue", str, enum=[*Part.values, "all"], default="all"),
            OpenApiParameter(
                "pod", str, description="Part of the name, optionally after `namespace/`."
            ),
            OpenApiParameter("namespace", str),
            OpenApiParameter(
                "plugin", str, description="A plugin that rejected the pod, gates or holds it."
            ),
            *page_parameters(),
        ],
        responses={200: Queue, **_REFUSALS},
    )
    def get(self, request: Request, cluster: str) -> Response:
        """List the pods in the queue.

        The pods of all parts of the queue, or of one, in the order in which they leave it; and the
        size of each part.
        """
        for name in past.MOMENTS:
            if name in request.query_params:
                raise BadRequest(
                    f"{name}: this is the present queue; a past one is at {request.path}/past"
                )
        reject_unknown(request, _QUEUE_PARAMETERS)
        target = cluster_named(cluster)
        query = request.query_params
        if any("\x00" in value for value in query.values()):
            raise BadRequest("a parameter holds a NUL character")
        name = query.get("queue", "all")
        known = (*Part.values, "all")
        if name not in known:
            raise BadRequest(f"queue: {name!r} is not one of {', '.join(known)}")
        wanted = listing.QueueFilter(
            queue="" if name == "all" else name,
            pod=query.get("pod", ""),
            namespace=query.get("namespace", ""),
            plugin=query.get("plugin", ""),
        )
        sizes, cycles = listing.count_by_part(target), listing.read_cycles(target)
        total = listing.count_pods(target, wanted, sizes)
        page = read_page(request)
        queue = Queue(
            summary=listing.summarize(sizes),
            sizes=sizes,
            queue=cast(_QueueName, name),
            scheduling_cycle=cycles.scheduling,
            move_request_cycle=cycles.move_request,
            total=total,
            pods=listing.list_pods(target, wanted, limit=page.size, offset=page.start),
            **page.link(total),
        )
        return answer(queue)


_HISTORY = [
    OpenApiParameter(
        "pod",
        str,
        description="Part of a name; `web-*`: its beginning; `namespace/name`: this pod.",
    ),
    OpenApiParameter("pod_uid", UUID),
    OpenApiParameter(
        "event", str, description="The event that moved it: `NodeAdd`, `ManualActivate` …"
    ),
    OpenApiParameter("plugin", str, description="The plugin whose hint or PreEnqueue decided."),
    *PERIOD,
]


class QueueHistoryView(ControlView, ListAPIView[QueueMove]):
    """Moves between the queues; retained when the pod is deleted."""

    area = Area.QUEUE
    queryset = QueueMove.objects.none()
    serializer_class = QueueMoveSerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> QuerySet[QueueMove]:
        reject_unknown(self.request, {*history.PARAMETERS, *PAGING, "format"})
        return history.find_moves(recorded_cluster(self.kwargs), self.request.query_params)

    @extend_schema(
        parameters=_HISTORY, responses={200: QueueMoveSerializer(many=True), **_REFUSALS}
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List moves in the queue.

        Every move of a pod between the parts of the queue, newest first: source, target, event,
        and the plugin and hint that decided. Moves are retained after their pod is deleted.
        """
        return self.list(request, *args, **kwargs)


class QueueHistoryExportView(FileView):
    """Moves between the queues as a file."""

    area = Area.QUEUE
    file_name = "queue-history"
    columns = history.FIELDS
    parameters = history.PARAMETERS
    batches = staticmethod(history.batches)

    @extend_schema(parameters=[FORMAT, *_HISTORY], responses={**FILES, **_REFUSALS})
    def get(self, request: Request, **kwargs: Any) -> StreamingHttpResponse:
        """Export moves in the queue.

        A file with a row for each move that the filters select, newest first.
        """
        return self.stream(request, kwargs)


class PastQueueView(ControlView):
    """The scheduling queue at a past moment."""

    area = Area.QUEUE

    @extend_schema(
        parameters=[
            OpenApiParameter("at", str, description="A time: `1h` ago, `2026-11-22T09:00`."),
            OpenApiParameter("version", int, description="Instead: a version of the cluster."),
            OpenApiParameter("decision", int, description="Instead: the time of a decision."),
            PERIOD[2],
            OpenApiParameter("queue", str, enum=[str(part) for part in past.PARTS]),
            OpenApiParameter("pod", str, description="Part of a name, with or without namespace."),
            *page_parameters(),
        ],
        responses={200: PastQueuePage, 410: ErrorSerializer, **_REFUSALS},
    )
    def get(self, request: Request, **kwargs: Any) -> Response:
        """Read the queue at a past moment.

        The pods in each part of the queue at a time, at a version of the cluster, or at the time
        of a decision, from the history of moves.
        """
        reject_unknown(request, {*past.PARAMETERS, *PAGING, "format"})
        cluster, query = recorded_cluster(kwargs), request.query_params
        moment = past.parse_past_moment(cluster, query)
        if moment is None:
            raise BadRequest(f"one of {', '.join(past.MOMENTS)} is required")
        page = read_page(request)
        past_queue = past.read_past_queue(
            cluster,
            moment,
            queue=query.get("queue", ""),
            pod=query.get("pod", ""),
            limit=page.size,
            offset=page.start,
        )
        return answer(page.add_links(PastQueuePage, past_queue, past_queue.total))


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
        target = cluster_named(cluster)
        wanted = ActivationSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        activation.activate(
            target,
            wanted.validated_data["pods"],
            user=request.user.get_username(),
            request_id=current_request_id(),
        )
        return Response(wanted.data, status=202)
