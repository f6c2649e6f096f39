"""Django's view of the wiring: it has management commands, and it loads Celery."""

from __future__ import annotations

from django.apps import AppConfig


class SchedwebConfig(AppConfig):
    name = "schedweb"

    def ready(self) -> None:
        # Shared tasks bind to the application that is current when they are first used.
        from schedweb.celery import app

        app.set_default()
