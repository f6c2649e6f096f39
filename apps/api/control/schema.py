"""The views of the OpenAPI description."""

from __future__ import annotations

from functools import cache
from typing import Any

from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.releasing import ReleasingView


class SchemaView(ReleasingView, SpectacularAPIView):
    """The description of the control-plane API: the same for everybody while the process runs."""

    def _get_schema_response(self, request: Request) -> Response:
        filename = self._get_filename(request, None)  # type: ignore[no-untyped-call]
        disposition = {"Content-Disposition": f'inline; filename="{filename}"'}
        return Response(_describe_api(), headers=disposition)


class DocumentationView(SpectacularSwaggerSplitView):
    """The page that shows the description and sends requests, with its script in a file."""

    template_name = "api/docs.html"
    # the template renders a page, and no description of the view
    http_method_names = ("get", "head")

    def _get_schema_url(self, request: Request) -> str:
        # a browser reads JSON in a tenth of the time that it needs for YAML
        address = super()._get_schema_url(request)  # type: ignore[no-untyped-call]
        return f"{address}?format=json"


@cache
def _describe_api() -> Any:
    generator = SpectacularAPIView.generator_class()
    return generator.get_schema(public=True)  # type: ignore[no-untyped-call]
