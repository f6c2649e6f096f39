"""Serializers of the control-plane API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.engine.ledger import export
from apps.engine.models import SchedulingDecision


class DecisionSerializer(serializers.ModelSerializer[SchedulingDecision]):
    cluster = serializers.SerializerMethodField()

    class Meta:
        model = SchedulingDecision
        fields: tuple[str, ...] = export.FIELDS

    def get_cluster(self, decision: SchedulingDecision) -> str | None:
        names: dict[int, str] = self.context["cluster_names"]
        return names.get(decision.cluster_id)


class StatusSerializer(serializers.Serializer[Any]):
    plugin = serializers.CharField()
    code = serializers.CharField()
    reasons = serializers.ListField(child=serializers.CharField())


class RefusalAnswerSerializer(StatusSerializer):
    extension_point = serializers.CharField(help_text="PreFilter or Filter; empty: not evaluated.")


class RefusalGroupSerializer(RefusalAnswerSerializer):
    """The nodes that one plugin rejected with one status."""

    count = serializers.IntegerField()
    nodes = serializers.ListField(child=serializers.CharField(), help_text="By name.")


class ScoreColumnSerializer(serializers.Serializer[Any]):
    plugin = serializers.CharField()
    weight = serializers.IntegerField()
    raw = serializers.ListField(child=serializers.IntegerField(), help_text="Any int64.")
    normalized = serializers.ListField(child=serializers.IntegerField(), help_text="0 to 100.")


class ScoresSerializer(serializers.Serializer[Any]):
    """Columns with an entry for each node of `nodes`; empty if no node was scored."""

    nodes = serializers.ListField(
        child=serializers.CharField(),
        help_text="By descending total; among equal totals the selected node first, then by name.",
    )
    ranks = serializers.ListField(
        child=serializers.IntegerField(), help_text="From 1; equal totals share a rank."
    )
    total = serializers.ListField(child=serializers.IntegerField())
    tied = serializers.IntegerField(
        help_text="Number of nodes with the highest total; they come first."
    )
    chosen = serializers.BooleanField(help_text="Whether the first node was selected.")
    plugins = ScoreColumnSerializer(
        many=True, help_text="By descending range of their weighted scores."
    )


class ExtenderCallSerializer(serializers.Serializer[Any]):
    extender = serializers.CharField(help_text="Its name in refusals and scores.")
    url = serializers.CharField()
    verb = serializers.ChoiceField(["filter", "prioritize", "preempt", "bind"])
    nodes_in = serializers.IntegerField(help_text="Nodes in the request.")
    nodes_out = serializers.IntegerField(help_text="Nodes it accepted, scored or bound to.")
    nanoseconds = serializers.IntegerField()
    error = serializers.CharField(allow_blank=True)
    ignored = serializers.BooleanField(help_text="The attempt continued despite the error.")
    has_objects = serializers.BooleanField(
        help_text="It answered filter with nodes instead of names: they were scored without their "
        "pods."
    )


class BatchSerializer(serializers.Serializer[Any]):
    node = serializers.CharField(help_text="Its next node, which was tried before all others.")
    selected = serializers.BooleanField(
        help_text="The pod fits there: no other node was evaluated, and none was scored."
    )
    pod = serializers.CharField(
        help_text="`namespace/name` of the pod whose decision has the scores."
    )
    pod_uid = serializers.CharField()
    attempt = serializers.IntegerField(help_text="The number of the attempt of that decision.")


class SearchSerializer(serializers.Serializer[Any]):
    start = serializers.IntegerField(
        help_text="Position in the order of nodes at which it started."
    )
    evaluated = serializers.IntegerField(help_text="Nodes that the filters evaluated.")
    nominated_node_only = serializers.BooleanField(help_text="No other node was evaluated.")
    batch = BatchSerializer(
        allow_null=True, help_text="Null: no node came from the ranking of another decision."
    )
    pre_filter_nodes = serializers.ListField(
        child=serializers.CharField(), allow_null=True, help_text="Null: PreFilter allowed all."
    )
    filter_skipped = serializers.ListField(child=serializers.CharField())
    score_skipped = serializers.ListField(child=serializers.CharField())
    draw = serializers.IntegerField(
        allow_null=True,
        help_text="Index of the selected node in `ties`, in the order of the snapshot.",
    )


class CandidateSerializer(serializers.Serializer[Any]):
    node = serializers.CharField()
    victims = serializers.ListField(
        child=serializers.CharField(), help_text="`namespace/name`, most important first."
    )
    pdb_violations = serializers.IntegerField()
    figures = serializers.DictField(
        child=serializers.IntegerField(), help_text="Criterion -> figure, in order of comparison."
    )


class PreemptionSerializer(serializers.Serializer[Any]):
    outcome = StatusSerializer()
    nominated_node = serializers.CharField(allow_null=True)
    candidates = CandidateSerializer(many=True)
    ties = serializers.ListField(child=serializers.CharField())
    decided_by = serializers.CharField(help_text="The criterion that decided.")
    offset = serializers.IntegerField(help_text="Index of the node at which the search started.")


class PermitWaitSerializer(serializers.Serializer[Any]):
    timeouts = serializers.DictField(
        child=serializers.FloatField(), help_text="Plugin -> timeout in seconds."
    )
    seconds = serializers.FloatField(help_text="How long the pod waited.")
    rejection = StatusSerializer(allow_null=True, help_text="Null when the pod was allowed.")


class DecisionDetailSerializer(DecisionSerializer):
    refusals = RefusalGroupSerializer(
        many=True,
        help_text="The first refusal of each node, grouped; most nodes first, not evaluated last.",
    )
    scores = ScoresSerializer()
    ties = serializers.ListField(child=serializers.CharField())
    pre_filter = StatusSerializer(allow_null=True)
    rejection = StatusSerializer(allow_null=True)
    search = SearchSerializer()
    preemption = PreemptionSerializer(allow_null=True, help_text="Null: PostFilter was not run.")
    tie_break = serializers.CharField(
        help_text="The tie-break of the cluster; empty in old decisions."
    )
    seed = serializers.IntegerField(help_text="Seed of the cluster's random draws.")
    durations = serializers.DictField(
        child=serializers.IntegerField(), help_text="Extension point -> nanoseconds."
    )
    plugin_durations = serializers.DictField(
        child=serializers.DictField(child=serializers.IntegerField()),
        help_text="Extension point -> plugin -> nanoseconds.",
    )
    extender_calls = ExtenderCallSerializer(many=True)
    permit_wait = PermitWaitSerializer(allow_null=True)

    class Meta(DecisionSerializer.Meta):
        fields = (
            *export.FIELDS,
            "refusals",
            "scores",
            "ties",
            "pre_filter",
            "rejection",
            "search",
            "preemption",
            "tie_break",
            "seed",
            "durations",
            "plugin_durations",
            "extender_calls",
            "permit_wait",
        )


class PluginScoreSerializer(serializers.Serializer[Any]):
    plugin = serializers.CharField()
    weight = serializers.IntegerField()
    raw = serializers.IntegerField()
    normalized = serializers.IntegerField()
    weighted = serializers.IntegerField()


class NodeResultSerializer(serializers.Serializer[Any]):
    node = serializers.CharField()
    refusal = RefusalAnswerSerializer(allow_null=True, help_text="Null: the node was feasible.")
    scores = PluginScoreSerializer(many=True, help_text="Empty if the node was not scored.")
    total = serializers.IntegerField(allow_null=True)
    rank = serializers.IntegerField(allow_null=True, help_text="From 1, by total.")


class ImportedSerializer(serializers.Serializer[Any]):
    created = serializers.IntegerField()
    objects = serializers.ListField(child=serializers.CharField(), help_text="Kind namespace/name")
    skipped = serializers.CharField(
        help_text="The number of skipped objects by kind, as a sentence; empty if there are none"
    )


class ErrorCauseSerializer(serializers.Serializer[Any]):
    field = serializers.CharField()
    message = serializers.CharField()


class ErrorSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField()
    message = serializers.CharField()
    causes = ErrorCauseSerializer(many=True)
