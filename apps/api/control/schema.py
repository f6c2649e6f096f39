"""The OpenAPI description: its view, and extensions."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.views import SpectacularAPIView

from apps.api.releasing import ReleasingView


class SchemaView(ReleasingView, SpectacularAPIView):
    """The description of the control-plane API."""


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # has no types
    """`Authorization: Bearer KEY`, in the description."""

    target_class = "apps.cluster.auth.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}
