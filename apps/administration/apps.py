"""Django configuration: finds the commands and the Celery tasks."""

from __future__ import annotations

from django.apps import AppConfig


class AdministrationConfig(AppConfig):
    name = "apps.administration"
