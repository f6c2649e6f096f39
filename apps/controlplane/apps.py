"""Django configuration of the controlplane room: make it so."""

from __future__ import annotations

from django.apps import AppConfig


class ControlPlaneConfig(AppConfig):
    name = "apps.controlplane"
    label = "controlplane"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from apps.cluster.announce import wake_hooks
        from apps.controlplane.waking import wake

        wake_hooks.append(wake)
