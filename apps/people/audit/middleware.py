"""Sets the caller of a request, and records refusals and exports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from apps.people.audit.caller import calling, current_caller
from apps.people.audit.invalid_tokens import record_ended_period, record_invalid_token
from apps.people.audit.recording import try_to_record
from apps.people.audit.refused_requests import record_refusal
from apps.people.models import AuditEntry

Handler = Callable[[HttpRequest], HttpResponseBase]

#: Names of routes that return what a site holds as a file.
_EXPORTS: Final = ("api-export", "api-cluster-export", "operation-output")


def audit_requests(get_response: Handler) -> Handler:
    """Middleware: let the code below know the caller, and record what the response shows."""

    def handle(request: HttpRequest) -> HttpResponseBase:
        with calling(request):
            response = get_response(request)
            if response.status_code == 403:
                record_refusal(
                    current_caller(), str(request.method), request.path, _cluster_of(request)
                )
            elif response.status_code == 401:
                record_invalid_token(
                    request.META.get("REMOTE_ADDR", ""),
                    request.META.get("HTTP_AUTHORIZATION", ""),
                    str(request.method),
                    request.path,
                )
            elif response.status_code == 200 and _is_export(request):
                try_to_record(
                    AuditEntry.Action.EXPORTED,
                    target=request.get_full_path(),
                    cluster=_cluster_of(request),
                )
            record_ended_period()
        return response

    return handle


def _is_export(request: HttpRequest) -> bool:
    match = request.resolver_match
    return match is not None and (match.url_name or "").startswith(_EXPORTS)


def _cluster_of(request: HttpRequest) -> str:
    match = request.resolver_match
    if match is None:
        return ""
    # viewsets of clusters have their name in `name`
    named = "name" if (match.url_name or "").startswith("api-cluster") else "cluster"
    return str(match.kwargs.get(named) or match.kwargs.get("cluster", ""))
