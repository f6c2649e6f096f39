"""The decision ledger: every attempt to schedule a pod, newest first."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_naive, make_aware
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import mixins
from rest_framework.decorators import action
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from apps.api.control import explaining
from apps.api.control.base import ControlView, cluster_named
from apps.api.control.serializers import (
    DecisionDetailSerializer,
    DecisionSerializer,
    ErrorSerializer,
    NodeVerdictSerializer,
)
from apps.cluster.errors import BadRequest, NotFound
from apps.cluster.models import Cluster
from apps.controlplane import ledger
from apps.controlplane.models import SchedulingDecision

_FILTERS = (
    OpenApiParameter("cluster", str, description="Name of the cluster."),
    OpenApiParameter("pod", str, description="`namespace/name`, or a name in any namespace."),
    OpenApiParameter("pod_uid", UUID),
    OpenApiParameter("node", str, description="Where the pod landed."),
    OpenApiParameter("result", str, enum=SchedulingDecision.Result.values),
    OpenApiParameter("profile", str, description="The schedulerName."),
    OpenApiParameter("since", datetime, description="At or after this time."),
    OpenApiParameter("until", datetime, description="Before this time."),
)


class NewestFirst(CursorPagination):
    ordering = "-id"
    page_size = 100
    page_size_query_param = "page_size"
    max_page_size = 1000


@extend_schema_view(list=extend_schema(parameters=list(_FILTERS), responses={400: ErrorSerializer}))
class DecisionViewSet(ControlView, mixins.ListModelMixin, GenericViewSet[SchedulingDecision]):
    """Attempts to schedule a pod; kept after the pod is gone."""

    queryset = SchedulingDecision.objects.none()
    serializer_class = DecisionSerializer
    pagination_class = NewestFirst
    lookup_value_regex = r"\d{1,18}"

    def get_queryset(self) -> QuerySet[SchedulingDecision]:
        return filtered(self.request).defer("columns")

    def get_serializer_context(self) -> dict[str, Any]:
        names = dict(Cluster.objects.values_list("pk", "name"))
        return {**super().get_serializer_context(), "cluster_names": names}

    @extend_schema(responses={200: DecisionDetailSerializer, 404: ErrorSerializer})
    def retrieve(self, request: Request, pk: str) -> Response:
        """One decision with the verdict on every node, and the scores of the feasible ones."""
        row = decision_row(pk)
        decision = ledger.load(row)
        body = DecisionSerializer(row, context=self.get_serializer_context()).data
        return Response(
            {
                **body,
                "verdicts": explaining.verdicts(decision),
                "scores": explaining.scores(decision),
                "ties": decision.tied_nodes(),
                "pre_filter": explaining.status(decision.pre_filter),
                "rejection": explaining.status(decision.rejection),
                "durations": dict(decision.durations),
                "extender_calls": explaining.extender_calls(decision),
                "permit_wait": explaining.permit_wait(decision),
            }
        )

    @extend_schema(responses={200: NodeVerdictSerializer, 404: ErrorSerializer})
    @action(detail=True, methods=["get"], url_path="nodes/(?P<node>[^/]+)")
    def node(self, request: Request, pk: str, node: str) -> Response:
        """What this decision found about one node: why it was refused, or how it scored."""
        decision = ledger.load(decision_row(pk))
        try:
            return Response(explaining.node_verdict(decision, node))
        except KeyError as error:
            raise NotFound("nodes", node) from error


def decision_row(pk: str) -> SchedulingDecision:
    """The row of a decision; NotFound when there is none."""
    row = SchedulingDecision.objects.filter(pk=int(pk)).first()
    if row is None:
        raise NotFound("decisions", pk)
    return row


def filtered(request: Request) -> QuerySet[SchedulingDecision]:
    """The decisions that the query parameters ask for; BadRequest names a wrong one."""
    query = request.query_params
    if any("\x00" in value for value in query.values()):
        raise BadRequest("a parameter holds a NUL character")
    found = SchedulingDecision.objects.all()
    if name := query.get("cluster"):
        found = found.filter(cluster_id=cluster_named(name).pk)
    if pod := query.get("pod"):
        namespace, _, pod_name = pod.rpartition("/")
        found = found.filter(name=pod_name, **({"namespace": namespace} if namespace else {}))
    if uid := query.get("pod_uid"):
        found = found.filter(pod_uid=_uuid(uid))
    if node := query.get("node"):
        found = found.filter(node=node)
    if result := query.get("result"):
        if result not in SchedulingDecision.Result.values:
            known = ", ".join(SchedulingDecision.Result.values)
            raise BadRequest(f"result: {result!r} is none of {known}")
        found = found.filter(result=result)
    if profile := query.get("profile"):
        found = found.filter(scheduler_name=profile)
    if since := query.get("since"):
        found = found.filter(at__gte=_moment("since", since))
    if until := query.get("until"):
        found = found.filter(at__lt=_moment("until", until))
    return found


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise BadRequest(f"pod_uid: {text!r} is not a UUID") from error


def _moment(name: str, text: str) -> datetime:
    try:
        # a plus in a query string is a space
        moment = parse_datetime(text.replace(" ", "+") if "T" in text else text)
    except ValueError:
        moment = None
    if moment is None:
        raise BadRequest(f"{name}: {text!r} is not a time like 2026-01-02T03:04:05Z")
    return make_aware(moment) if is_naive(moment) else moment
