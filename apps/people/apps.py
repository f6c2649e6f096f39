"""Django configuration of the users' side."""

from __future__ import annotations

from django.apps import AppConfig


class PeopleConfig(AppConfig):
    name = "apps.people"
    label = "people"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # registers the receivers
        from apps.people.audit import signals  # noqa: F401
