"""The response to a failed request: the database is unavailable, or an internal error."""

from __future__ import annotations

import sys

from django.db import DataError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import get_template
from django.views.decorators.csrf import requires_csrf_token
from django.views.defaults import bad_request, server_error

from apps.cluster.availability import is_database_unavailable, refusal_for
from apps.cluster.errors import ApiError, BadRequest

RETRY_SECONDS = 1
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


@requires_csrf_token
def failure(request: HttpRequest) -> HttpResponse:
    """Called by Django on an unhandled exception: 503 without a database, otherwise 500."""
    error = sys.exc_info()[1]
    if isinstance(error, DataError):
        return refuse(request, BadRequest("a value is too long, out of range or not a text"))
    if error is None or not is_database_unavailable(error):
        if request.path.startswith("/k8s/"):
            return JsonResponse(_internal_error().status(), status=500)
        return server_error(request)
    refusal = refusal_for(error, writes=request.method not in SAFE_METHODS)
    if request.path.startswith(("/k8s/", "/api/")):
        response: HttpResponse = JsonResponse(refusal.status(), status=refusal.code)
    else:
        # without the request: its user and session are in the database
        response = HttpResponse(
            get_template("503.html").render({"reason": refusal.message}), status=refusal.code
        )
    response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response


def refuse(request: HttpRequest, refusal: ApiError) -> HttpResponse:
    """The response to a request that cannot be served as it is: a Status, or a page."""
    if request.path.startswith(("/k8s/", "/api/")):
        return JsonResponse(refusal.status(), status=refusal.code)
    return bad_request(request, refusal)


def _internal_error() -> ApiError:
    return ApiError("Internal error occurred: the server failed and logged the cause")
