"""`/metrics` of the site: metrics of every cluster and of the site itself."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from apps.api.releasing import ReleasingView
from apps.engine.metrics import exposition
from schedweb import health


class SiteMetricsView(ReleasingView):
    """Requires authentication: a Prometheus server scrapes with a user's key."""

    schema = None

    def perform_content_negotiation(
        self, request: Request, force: bool = False
    ) -> tuple[BaseRenderer, str]:
        """Accept any type: the library chooses among Prometheus formats."""
        return self.get_renderers()[0], "text/plain"

    def get(self, request: Request) -> HttpResponse:
        exposed = exposition.expose_site(request.headers.get("Accept", ""), health.run_checks())
        return HttpResponse(exposed.text, content_type=exposed.content_type)
