"""Serializers of revisions, drafts, their differences and previews."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.administration.operations.previewing import DEFAULT_DECISIONS, PreviewResult
from apps.api.control.answers import ResultField
from apps.api.control.operations import OperationSerializer
from apps.api.control.request_shapes import StrictSerializer
from apps.cluster import limits
from apps.engine.models import ConfigurationDraft, ConfigurationRevision, SchedulingDecision
from apps.engine.profiles.private_keys import visible_to
from apps.engine.profiles.revisions import find_warnings


class ProfileSerializer(serializers.ModelSerializer[ConfigurationRevision]):
    warnings = serializers.SerializerMethodField(
        help_text="What is allowed and probably not wanted, such as a resource named CPU."
    )

    class Meta:
        model = ConfigurationRevision
        fields = (
            "revision",
            "active",
            "legacy",
            "name",
            "note",
            "user",
            "created_at",
            "configuration",
            "warnings",
        )

    def to_representation(self, revision: ConfigurationRevision) -> dict[str, Any]:
        return _for_reader(self, revision, super().to_representation(revision))

    def get_warnings(self, revision: ConfigurationRevision) -> list[str]:
        return find_warnings(revision)


class NewProfileSerializer(serializers.Serializer[Any]):
    configuration = serializers.CharField(
        help_text="A KubeSchedulerConfiguration (v1) as YAML.", trim_whitespace=False
    )
    name = serializers.CharField(
        default="", allow_blank=True, max_length=63, help_text="Unique in the cluster, or empty."
    )
    note = serializers.CharField(default="", allow_blank=True, max_length=200)
    legacy = serializers.BooleanField(
        default=False, help_text="Allow the plugins of earlier releases, as convert_config does."
    )
    activate = serializers.BooleanField(
        default=True, help_text="False: store the revision; the scheduler does not use it."
    )


class ProfileLabelsSerializer(StrictSerializer):
    name = serializers.CharField(required=False, allow_blank=True, max_length=63)
    note = serializers.CharField(required=False, allow_blank=True, max_length=200)


class ConfigurationSerializer(serializers.Serializer[Any]):
    configuration = serializers.CharField(
        help_text="A KubeSchedulerConfiguration (v1) as YAML.", trim_whitespace=False
    )
    legacy = serializers.BooleanField(default=False)


class DraftSerializer(serializers.ModelSerializer[ConfigurationDraft]):
    class Meta:
        model = ConfigurationDraft
        fields = ("name", "legacy", "note", "user", "updated_at", "configuration")

    def to_representation(self, draft: ConfigurationDraft) -> dict[str, Any]:
        return _for_reader(self, draft, super().to_representation(draft))


class NewDraftSerializer(serializers.Serializer[Any]):
    configuration = serializers.CharField(
        help_text="May be invalid.", trim_whitespace=False, allow_blank=True
    )
    note = serializers.CharField(default="", allow_blank=True, max_length=200)
    legacy = serializers.BooleanField(default=False)


class OldConfigurationSerializer(serializers.Serializer[Any]):
    configuration = serializers.CharField(
        help_text="A KubeSchedulerConfiguration v1alpha1 to v1beta3, or a Policy v1, as YAML.",
        trim_whitespace=False,
    )
    policy = serializers.CharField(
        required=False,
        trim_whitespace=False,
        help_text="The Policy to which algorithmSource of a v1alpha1 configuration refers.",
    )
    feature_gates = serializers.DictField(
        child=serializers.BooleanField(),
        default=dict,
        help_text="Gates with which the old scheduler ran: VolumeCapacityPriority, "
        "BalanceAttachedNodeVolumes.",
    )


class NewPreviewSerializer(serializers.Serializer[Any]):
    """One of `configuration`, `revision` and `draft`."""

    configuration = serializers.CharField(required=False, trim_whitespace=False)
    revision = serializers.IntegerField(required=False, min_value=1)
    draft = serializers.CharField(required=False)
    legacy = serializers.BooleanField(default=False, help_text="Of `configuration`.")
    decisions = serializers.IntegerField(
        default=DEFAULT_DECISIONS,
        min_value=1,
        max_value=limits.PREVIEWED_DECISIONS.highest,
        help_text="Number of decisions, the newest ones.",
    )
    result = serializers.ChoiceField(
        SchedulingDecision.Result.choices,
        default="",
        allow_blank=True,
        help_text="Only decisions with this result.",
    )

    def validate(self, attrs: Any) -> Any:
        if len(attrs.keys() & {"configuration", "revision", "draft"}) != 1:
            raise serializers.ValidationError(
                {"configuration": "exactly one of configuration, revision and draft is required"}
            )
        return attrs


class PreviewSerializer(serializers.Serializer[Any]):
    operation = OperationSerializer()
    result = ResultField(PreviewResult, allow_null=True, help_text="Null until it has succeeded.")


def _for_reader(
    serializer: serializers.BaseSerializer[Any],
    stored: ConfigurationRevision | ConfigurationDraft,
    fields: dict[str, Any],
) -> dict[str, Any]:
    """The fields of a configuration for the user of the request."""
    user = serializer.context["request"].user
    return {**fields, "configuration": visible_to(user, stored.cluster_id, stored.configuration)}
