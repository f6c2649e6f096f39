"""Serializers of the control-plane API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.api.control.answers import result_fields
from apps.engine.ledger import export
from apps.engine.models import SchedulingDecision
from apps.engine.results.presenting import DecisionResults


class DecisionSerializer(serializers.ModelSerializer[SchedulingDecision]):
    cluster = serializers.SerializerMethodField()

    class Meta:
        model = SchedulingDecision
        fields: tuple[str, ...] = export.FIELDS

    def get_cluster(self, decision: SchedulingDecision) -> str | None:
        names: dict[int, str] = self.context["cluster_names"]
        return names.get(decision.cluster_id)


class DecisionDetailSerializer(DecisionSerializer):
    """A decision with what the attempt found."""

    tie_break = serializers.CharField(
        help_text="The tie-break of the cluster; empty in old decisions."
    )
    seed = serializers.IntegerField(help_text="Seed of the cluster's random draws.")

    class Meta(DecisionSerializer.Meta):
        fields = (*export.FIELDS, "tie_break", "seed")

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), **result_fields(DecisionResults)}


class ErrorCauseSerializer(serializers.Serializer[Any]):
    field = serializers.CharField()
    message = serializers.CharField()


class ErrorSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField()
    message = serializers.CharField()
    causes = ErrorCauseSerializer(many=True)
