"""The settings of a cluster as fields of a body."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.fields import empty

from apps.cluster.settings import Setting

_INT64: dict[str, Any] = {"min_value": -(1 << 63), "max_value": (1 << 63) - 1}

AnyField = serializers.Field[Any, Any, Any, Any]


def setting_field(setting: Setting) -> AnyField:
    """The field of one setting. It checks the type; the model's rules then check the value.

    A field that is left out has the setting's default in a new cluster, and is not changed in one
    that exists.
    """
    given: dict[str, Any] = {
        "default": empty if setting.draw else setting.default,
        "required": False if setting.draw else None,
        "help_text": f"{setting.help} {_who_changes(setting)}",
    }
    if setting.follows_site:
        given |= {"allow_null": True}
    match setting.kind:
        case "switch":
            return serializers.BooleanField(**given)
        case "number":
            return serializers.IntegerField(**given, **_INT64)
        case "choice":
            return serializers.ChoiceField(choices=setting.choices, **given)
        case "plugins":
            return serializers.JSONField(**given)


def _who_changes(setting: Setting) -> str:
    if setting.changed_by == "no one":
        return "Given when the cluster is created, and not changed later."
    site = " Null: as the site." if setting.follows_site else ""
    return f"Can be changed by {setting.changed_by}.{site}"
