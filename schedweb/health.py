"""Is the whole house at work? Health answers for people, balancers and the supervisor."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse


def alive(request: HttpRequest) -> HttpResponse:
    """200 as long as this process answers."""
    return HttpResponse("ok", content_type="text/plain")


def ready(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok", content_type="text/plain")
