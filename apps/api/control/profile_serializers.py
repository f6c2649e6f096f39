"""Serializers of revisions, drafts, their differences and previews."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.administration.operations.previewing import DEFAULT_DECISIONS
from apps.api.control.operations import OperationSerializer
from apps.cluster import limits
from apps.engine.models import ConfigurationDraft, ConfigurationRevision, SchedulingDecision
from apps.engine.profiles.revisions import find_warnings
from apps.studies.rebuilding.previewing import Effect


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


class ProfileLabelsSerializer(serializers.Serializer[Any]):
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


class NewDraftSerializer(serializers.Serializer[Any]):
    configuration = serializers.CharField(
        help_text="May be invalid.", trim_whitespace=False, allow_blank=True
    )
    note = serializers.CharField(default="", allow_blank=True, max_length=200)
    legacy = serializers.BooleanField(default=False)


class DifferenceSerializer(serializers.Serializer[Any]):
    what = serializers.CharField(help_text="A setting, plugin, weight or argument.")
    before = serializers.CharField()
    after = serializers.CharField()


class ProfileDifferencesSerializer(serializers.Serializer[Any]):
    scheduler_name = serializers.CharField(help_text="Empty: the settings of all profiles.")
    status = serializers.ChoiceField(["added", "removed", "changed"])
    differences = DifferenceSerializer(many=True)


class RevisionDiffSerializer(serializers.Serializer[Any]):
    before = serializers.IntegerField()
    after = serializers.IntegerField()
    effects = ProfileDifferencesSerializer(
        many=True, help_text="What the scheduler does differently, with defaults applied."
    )
    text = serializers.CharField(help_text="The unified diff of the texts; empty: identical.")


class CheckedSerializer(serializers.Serializer[Any]):
    warnings = serializers.ListField(
        child=serializers.CharField(), help_text="What is allowed and probably not wanted."
    )
    effects = ProfileDifferencesSerializer(
        many=True, help_text="Compared with the active revision."
    )
    stranded_pods = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Pending pods that no profile would schedule, by schedulerName.",
    )


class FeatureGateSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(source="gate.name")
    enabled = serializers.BooleanField(help_text="The value in effect in the revision.")
    given = serializers.BooleanField(help_text="Whether the revision sets it.")
    default = serializers.BooleanField(source="gate.default")
    locked = serializers.BooleanField(
        source="gate.locked", help_text="It can only be set to its default."
    )
    stage = serializers.ChoiceField(["Alpha", "Beta", "GA", "Deprecated"], source="gate.stage")
    requires = serializers.ListField(
        child=serializers.CharField(),
        source="gate.requires",
        help_text="The gates that must be on where this one is on.",
    )
    effect = serializers.CharField(help_text="What it does in this scheduler.")
    has_effect = serializers.BooleanField()


class FeatureGatesSerializer(serializers.Serializer[Any]):
    revision = serializers.IntegerField(source="revision.revision")
    flag = serializers.CharField(
        help_text="The value of kube-scheduler's flag --feature-gates; empty: none is set."
    )
    items = FeatureGateSerializer(many=True, source="rows")


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


class ConversionSerializer(serializers.Serializer[Any]):
    configuration = serializers.CharField(
        source="configuration_yaml", help_text="A KubeSchedulerConfiguration v1 as YAML."
    )
    legacy = serializers.BooleanField(
        help_text="Store it with `legacy`: it may name plugins of earlier releases."
    )
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="What differs, or could not be translated."
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


class PreviewedDecisionSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    namespace = serializers.CharField()
    name = serializers.CharField()
    attempt = serializers.IntegerField()
    scheduler_name = serializers.CharField()
    effect = serializers.ChoiceField([each.value for each in Effect])
    result_before = serializers.CharField()
    node_before = serializers.CharField(help_text="Selected or nominated; empty: none.")
    rejected_before = serializers.BooleanField(
        help_text="It lost the node after scoring: in Reserve, Permit or while it was bound."
    )
    result_after = serializers.CharField()
    node_after = serializers.CharField()
    total_before = serializers.IntegerField(allow_null=True)
    total_after = serializers.IntegerField(allow_null=True)
    message = serializers.CharField()


class PreviewResultSerializer(serializers.Serializer[Any]):
    subject = serializers.CharField()
    differing = serializers.IntegerField(help_text="Number of decisions that differ.")
    effects = serializers.DictField(
        child=serializers.IntegerField(), help_text="Effect -> number of decisions."
    )
    decisions = PreviewedDecisionSerializer(many=True, help_text="Newest first.")


class PreviewSerializer(serializers.Serializer[Any]):
    operation = OperationSerializer()
    result = PreviewResultSerializer(allow_null=True, help_text="Null until it has succeeded.")
