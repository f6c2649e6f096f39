"""The events of a cluster, which may be deleted."""

from __future__ import annotations

from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.paging import PAGING, NewestFirst
from apps.api.control.recorded import FILES, FORMAT, PERIOD, FileView, recorded_cluster
from apps.api.control.serializers import ErrorSerializer
from apps.studies.history import event_search

_FILTERS = [
    *(OpenApiParameter(name, str, description=text) for name, text in event_search.FILTERS),
    OpenApiParameter(
        event_search.EXPIRED,
        bool,
        default=False,
        description="Also list events that have expired, from the change log; always for a "
        "deleted cluster.",
    ),
]
_REFUSALS = {400: ErrorSerializer, 404: ErrorSerializer}


class EventSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField(help_text="Increases in the order of creation.")
    first_seen = serializers.DateTimeField()
    last_seen = serializers.DateTimeField()
    count = serializers.IntegerField(help_text="How often it was seen.")
    type = serializers.CharField(help_text="Normal or Warning.")
    reason = serializers.CharField()
    kind = serializers.CharField(help_text="The kind of the object it is about.")
    namespace = serializers.CharField()
    name = serializers.CharField(help_text="The name of this object.")
    message = serializers.CharField()
    component = serializers.CharField(help_text="What reported it.")
    expired = serializers.BooleanField(help_text="Only the change log has it.")


class LastSeenFirst(NewestFirst):
    """Pages by the version of the cluster in which an event was last seen."""

    ordering = "-seen_version"


class EventListView(ControlView, GenericAPIView[Any]):
    """Events, last seen first."""

    area = Area.EVENTS
    serializer_class = EventSerializer
    pagination_class = LastSeenFirst

    @extend_schema(
        parameters=[*_FILTERS, *PERIOD],
        responses={200: EventSerializer(many=True), **_REFUSALS},
    )
    def get(self, request: Request, **kwargs: Any) -> Response:
        """List events.

        The events that match all filters, last seen first; with a period, those seen in it.
        """
        reject_unknown(request, {*event_search.PARAMETERS, *PAGING, "format"})
        matches = event_search.find_events(recorded_cluster(kwargs), request.query_params)
        rows: list[Any] = self.paginate_queryset(matches.rows) or []
        events = [event_search.describe_event(matches.read(row)) for row in rows]
        return self.get_paginated_response(EventSerializer(events, many=True).data)


class EventExportView(FileView):
    """Events as a file."""

    area = Area.EVENTS
    file_name = "events"
    columns = event_search.FIELDS
    parameters = event_search.PARAMETERS
    batches = staticmethod(event_search.batches)

    @extend_schema(parameters=[FORMAT, *_FILTERS, *PERIOD], responses={**FILES, **_REFUSALS})
    def get(self, request: Request, **kwargs: Any) -> StreamingHttpResponse:
        """Export events.

        A file with a row for each event that the filters select, last seen first.
        """
        return self.stream(request, kwargs)
