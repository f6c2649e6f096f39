"""The request id: from the client or generated here, recorded for everything the request causes."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from apps.cluster.context import acceptable_request_id, request_context
from apps.cluster.errors import BadRequest
from schedweb.failures import refuse

Handler = Callable[[HttpRequest], HttpResponse]


def request_id(get_response: Handler) -> Handler:
    """Middleware: reads and returns ``X-Request-ID``, and sets it in the context."""

    def handle(request: HttpRequest) -> HttpResponse:
        with request_context(acceptable_request_id(request.headers.get("X-Request-ID"))) as name:
            response = get_response(request)
            response.headers["X-Request-ID"] = name
            return response

    return handle


def refuse_nul(get_response: Handler) -> Handler:
    """Middleware: rejects NUL characters in an address, which the database cannot represent."""

    def handle(request: HttpRequest) -> HttpResponse:
        if "%00" in request.META.get("QUERY_STRING", "") or "\x00" in request.path:
            return refuse(request, BadRequest("an address cannot contain NUL characters"))
        return get_response(request)

    return handle
