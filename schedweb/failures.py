"""The page of a request that failed: of a database that is away, or of a fault of ours."""

from __future__ import annotations

import sys

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import get_template
from django.views.decorators.csrf import requires_csrf_token
from django.views.defaults import server_error

from apps.cluster.availability import DatabaseAway, database_is_away

RETRY_SECONDS = 1


@requires_csrf_token
def failure(request: HttpRequest) -> HttpResponse:
    """Called by Django while the exception is handled: 503 when the database is away, else 500."""
    error = sys.exc_info()[1]
    if error is None or not database_is_away(error):
        return server_error(request)
    if request.path.startswith(("/k8s/", "/api/")):
        response: HttpResponse = JsonResponse(DatabaseAway().status(), status=503)
    else:
        # without the request: its user and session are in the database
        response = HttpResponse(get_template("503.html").render(), status=503)
    response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response
