"""`/metrics` of the site: every cluster's, and the site's own."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from apps.controlplane.metrics import exposition
from schedweb import health


class SiteMetricsView(APIView):
    """For members, like everything: a Prometheus scrapes with a user's key."""

    schema = None

    def perform_content_negotiation(
        self, request: Request, force: bool = False
    ) -> tuple[BaseRenderer, str]:
        """Any: Prometheus' dialects are the library's to choose from."""
        return self.get_renderers()[0], "text/plain"

    def get(self, request: Request) -> HttpResponse:
        found = exposition.of_site(request.headers.get("Accept", ""), health.checks())
        return HttpResponse(found.text, content_type=found.content_type)
