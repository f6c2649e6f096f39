"""The request id: from the client or generated here, recorded for everything the request causes."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from apps.cluster.context import acceptable_request_id, request_context

Handler = Callable[[HttpRequest], HttpResponse]


def request_id(get_response: Handler) -> Handler:
    """Middleware: reads and returns ``X-Request-ID``, and sets it in the context."""

    def handle(request: HttpRequest) -> HttpResponse:
        with request_context(acceptable_request_id(request.headers.get("X-Request-ID"))) as name:
            response = get_response(request)
            response.headers["X-Request-ID"] = name
            return response

    return handle
