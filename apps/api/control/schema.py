"""The views of the OpenAPI description."""

from __future__ import annotations

from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from apps.api.releasing import ReleasingView


class SchemaView(ReleasingView, SpectacularAPIView):
    """The description of the control-plane API."""


class DocumentationView(SpectacularSwaggerSplitView):
    """The page that shows the description and sends requests, with its script in a file."""

    template_name = "api/docs.html"
    # the template renders a page, and no description of the view
    http_method_names = ("get", "head")
