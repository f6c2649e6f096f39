"""The views of the OpenAPI description."""

from __future__ import annotations

from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView

from apps.api.releasing import ReleasingView


class SchemaView(ReleasingView, SpectacularAPIView):
    """The description of the control-plane API."""


class DocumentationView(SpectacularSwaggerView):
    """The page that shows the description and sends requests."""

    template_name = "api/docs.html"
