"""Django configuration of the control plane."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured


class ControlPlaneConfig(AppConfig):
    name = "apps.controlplane"
    label = "controlplane"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from apps.cluster.access import gate
        from apps.cluster.log.announce import wake_hooks
        from apps.controlplane import owners
        from apps.controlplane.workers.waking import wake_unless_held

        wake_hooks.append(wake_unless_held)
        gate.register("decision", owners.owner_of_decision)
        gate.register("operation", owners.owner_of_operation)


@register()
def check_plugins(**_: Any) -> list[CheckMessage]:
    """A system check: whether all out-of-tree scheduler plugins can be used."""
    from apps.controlplane.profiles.plugins import custom_plugins

    try:
        custom_plugins()
    except ImproperlyConfigured as problem:
        return [Error(str(problem), id="controlplane.E001")]
    return []
