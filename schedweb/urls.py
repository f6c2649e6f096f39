"""All URLs: health checks here, APIs in ``apps.api``, pages in ``apps.dashboard``."""

from __future__ import annotations

from django.urls import include, path

from schedweb import health
from schedweb.metrics import SiteMetricsView

handler500 = "schedweb.failures.failure"

urlpatterns = [
    path("healthz", health.alive, name="healthz"),
    path("livez", health.alive, name="livez"),
    path("readyz", health.ready, name="readyz"),
    path("metrics", SiteMetricsView.as_view(), name="metrics"),
    path("", include("apps.api.urls")),
    path("", include("apps.dashboard.urls")),
]
