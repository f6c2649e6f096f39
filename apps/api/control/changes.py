"""The change log of a cluster, which may be deleted."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.paging import PAGING, NewestFirst
from apps.api.control.recorded import FILES, FORMAT, PERIOD, FileView, recorded_cluster
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.models import HistoricChange
from apps.studies.history import change_search

_FILTERS = [
    *(OpenApiParameter(name, str, description=text) for name, text in change_search.FILTERS)
]
_REFUSALS = {400: ErrorSerializer, 404: ErrorSerializer}


class ChangeSerializer(serializers.ModelSerializer[HistoricChange]):
    class Meta:
        model = HistoricChange
        fields = tuple(name for name in change_search.FIELDS if name != "fields")
        extra_kwargs = {
            "at": {"help_text": "By the cluster's clock."},
            "previous_version": {"help_text": "The version that it replaced."},
        }


class _NewestVersionFirst(NewestFirst):
    ordering = "-version"


class ChangeListView(ControlView, ListAPIView[HistoricChange]):
    """Who changed what, newest first."""

    area = Area.CHANGES
    queryset = HistoricChange.objects.none()
    serializer_class = ChangeSerializer
    pagination_class = _NewestVersionFirst

    def get_queryset(self) -> QuerySet[HistoricChange]:
        reject_unknown(self.request, {*change_search.PARAMETERS, *PAGING, "format"})
        cluster = recorded_cluster(self.kwargs)
        return change_search.find_changes(cluster, self.request.query_params).rows.defer("object")

    @extend_schema(
        parameters=[*_FILTERS, *PERIOD],
        responses={200: ChangeSerializer(many=True), **_REFUSALS},
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List changes.

        Who changed which object, newest first: the changes that match all filters.
        """
        return self.list(request, *args, **kwargs)


class ChangeExportView(FileView):
    """Changes as a file, each with the paths of the fields that it updated."""

    area = Area.CHANGES
    file_name = "changes"
    columns = change_search.FIELDS
    parameters = change_search.PARAMETERS
    batches = staticmethod(change_search.batches)

    @extend_schema(parameters=[FORMAT, *_FILTERS, *PERIOD], responses={**FILES, **_REFUSALS})
    def get(self, request: Request, **kwargs: Any) -> StreamingHttpResponse:
        """Export changes.

        A file with a row for each change that the filters select, newest first.
        """
        return self.stream(request, kwargs)
