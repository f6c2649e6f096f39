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


#: Scripts, styles and forms of pages come from this server and go to it.
CONTENT_POLICY = "default-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
#: The page of the API draws with styles of its library, and icons that it contains.
_DOCS_POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def page_headers(get_response: Handler) -> Handler:
    """Middleware: gives every page a content security policy, and keeps it out of shared caches.

    Without Cache-Control a browser or a proxy may decide itself how long a page is current.
    """

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if response.headers.get("Content-Type", "").startswith("text/html"):
            docs = request.path.startswith("/api/docs")
            response.headers["Content-Security-Policy"] = _DOCS_POLICY if docs else CONTENT_POLICY
            response.headers.setdefault("Cache-Control", "private, no-cache")
        return response

    return handle
