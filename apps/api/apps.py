"""Django configuration of the api room."""

from __future__ import annotations

from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "apps.api"
    label = "api"

    def ready(self) -> None:
        # registers the authentication scheme with drf-spectacular
        from apps.api.control.documentation import describing, results  # noqa: F401
