"""What requests of the lab have in common: a moment, and a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers


class StrictSerializer(serializers.Serializer[Any]):
    """A body without unknown fields: a misspelt field must not be ignored.

    What such a request asks for has a default for everything, so its answer would not show it.
    """

    def to_internal_value(self, data: Any) -> Any:
        known = [name for name, field in self.fields.items() if not field.read_only]
        unknown = [name for name in data if name not in known] if isinstance(data, Mapping) else []
        if unknown:
            message = f"unknown field; known fields are {', '.join(sorted(known))}"
            raise serializers.ValidationError(dict.fromkeys(unknown, [message]))
        return super().to_internal_value(data)


class MomentRequestSerializer(StrictSerializer):
    """A moment of a cluster; the present one without any of the fields."""

    at = serializers.CharField(
        required=False, help_text="The state at a time, `1h` ago or `2026-11-22T09:00`."
    )
    zone = serializers.CharField(required=False, help_text="The time zone of `at`.")
    version = serializers.IntegerField(
        required=False, min_value=0, help_text="Instead: the state at a version of the cluster."
    )
    decision = serializers.IntegerField(
        required=False, min_value=1, help_text="Instead: the state that a decision saw."
    )


class ConfigurationRequestSerializer(StrictSerializer):
    """The configuration of a scheduler; that of the cluster without any of the fields."""

    configuration = serializers.CharField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="A KubeSchedulerConfiguration (v1) as YAML.",
    )
    revision = serializers.IntegerField(
        required=False, min_value=1, help_text="Instead: the number of a stored revision."
    )
    feature_gates = serializers.DictField(
        child=serializers.BooleanField(),
        required=False,
        help_text="Feature gates, in place of those of the configuration.",
    )
