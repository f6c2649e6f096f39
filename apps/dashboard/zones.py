"""The time zone of the viewer: stored in a cookie, used by everything that a page shows or parses.

A browser without the cookie gets it from `static/js/zone.js`, with the zone of the browser, until
it is closed. A choice of the user is the same cookie with an expiry.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.engine.periods import find_zone

#: The cookie with the name of the zone in the IANA time zone database.
COOKIE = "schedweb-zone"
#: Addresses of programs, which read and write times in UTC whatever cookie a browser has.
_PROGRAMS = ("/api/", "/k8s/")

Handler = Callable[[HttpRequest], HttpResponse]


def use_viewer_zone(get_response: Handler) -> Handler:
    """Middleware: activates the viewer's zone, or UTC, for the request."""

    def handle(request: HttpRequest) -> HttpResponse:
        zone = None if request.path.startswith(_PROGRAMS) else chosen_zone(request)
        with timezone.override(zone or UTC):
            return get_response(request)

    return handle


def chosen_zone(request: HttpRequest) -> ZoneInfo | None:
    """The zone in the request's cookie; None without a valid one."""
    return find_zone(unquote(request.COOKIES.get(COOKIE, "")))
