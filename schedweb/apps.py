"""Django configuration of this package: provides management commands and loads Celery."""

from __future__ import annotations

from django.apps import AppConfig


class SchedwebConfig(AppConfig):
    name = "schedweb"

    def ready(self) -> None:
        # Shared tasks bind to the application that is current when they are first used.
        from schedweb.celery import app

        app.set_default()
