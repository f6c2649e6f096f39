"""The audit log of the site."""

from __future__ import annotations

from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from apps.administration import auditing
from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.paging import PAGING, NewestFirst
from apps.api.control.recorded import (
    FILES,
    FORMAT,
    PERIOD,
    FileErrors,
    create_renderer,
    file_response,
)
from apps.api.control.serializers import ErrorSerializer
from apps.engine import exported_files
from apps.people.models import AuditEntry

_FILTERS = [OpenApiParameter(name, str, description=text) for name, text in auditing.FILTERS]
_REFUSALS = {400: ErrorSerializer, 403: ErrorSerializer}


class AuditEntrySerializer(serializers.ModelSerializer[AuditEntry]):
    class Meta:
        model = AuditEntry
        fields = auditing.FIELDS
        extra_kwargs = {
            "user": {"help_text": "Empty: the site itself."},
            "token": {"help_text": "Its name; empty for a session or a command."},
            "target": {"help_text": "What it was done to."},
            "details": {"help_text": "Depends on the action."},
        }


class AuditListView(ControlView, GenericAPIView[Any]):
    """Entries, newest first."""

    area = Area.AUDIT
    serializer_class = AuditEntrySerializer
    pagination_class = NewestFirst

    @extend_schema(
        parameters=[*_FILTERS, *PERIOD],
        responses={200: AuditEntrySerializer(many=True), **_REFUSALS},
    )
    def get(self, request: Request) -> Response:
        """List audit entries.

        The entries that match all filters, newest first: sign-ins, refused requests, exports, and
        changes of users, tokens, roles, settings and clusters. Changes of objects are in the
        change log of each cluster.
        """
        reject_unknown(request, {*auditing.PARAMETERS, *PAGING, "format"})
        entries = auditing.find_entries(request.query_params)
        rows: list[Any] = self.paginate_queryset(entries.rows) or []
        return self.get_paginated_response(self.get_serializer(rows, many=True).data)


class AuditExportView(FileErrors):
    """Entries as a file."""

    area = Area.AUDIT
    renderer_classes = [create_renderer(each) for each in exported_files.FORMATS.values()]

    @extend_schema(parameters=[FORMAT, *_FILTERS, *PERIOD], responses={**FILES, **_REFUSALS})
    def get(self, request: Request) -> StreamingHttpResponse:
        """Export audit entries.

        A file with a row for each entry that the filters select, newest first.
        """
        reject_unknown(request, {*auditing.PARAMETERS, "format"})
        rows = auditing.batches(request.query_params)
        return file_response(request, "audit", auditing.FIELDS, rows)
