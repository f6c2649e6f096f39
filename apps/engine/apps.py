"""Django configuration of the engine."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured


class EngineConfig(AppConfig):
    name = "apps.engine"
    # of its tables, and of the migrations that sites have applied: docs/adr/rooms.md
    label = "controlplane"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from apps.cluster.access import gate
        from apps.cluster.log.announce import wake_hooks
        from apps.engine import owners
        from apps.engine.workers.waking import wake_unless_held

        wake_hooks.append(wake_unless_held)
        gate.register("decision", owners.owner_of_decision)
        gate.register("operation", owners.owner_of_operation)


@register()
def check_plugins(**_: Any) -> list[CheckMessage]:
    """A system check: whether all out-of-tree scheduler plugins can be used."""
    from apps.engine.profiles.plugins import custom_plugins

    try:
        custom_plugins()
    except ImproperlyConfigured as problem:
        return [Error(str(problem), id="controlplane.E001")]
    return []
