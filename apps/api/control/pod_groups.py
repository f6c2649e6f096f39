"""Explanations of pod groups."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.base import ControlView
from apps.api.control.documentation.areas import Area
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.queries import cluster_named
from apps.controlplane.explanations.pod_groups import Standing, explain_pod_group


class GroupMemberSerializer(serializers.Serializer[Any]):
    namespace = serializers.CharField()
    name = serializers.CharField()
    uid = serializers.CharField()
    standing = serializers.ChoiceField(
        [standing.value for standing in Standing],
        help_text=(
            "`fits`: it had a node in the last attempt, but the group did not fit. `held`: "
            "PreEnqueue keeps it out of the queue. `waits`: it was not tried yet."
        ),
    )
    node = serializers.CharField(help_text="Where it is bound, or would fit; empty without one.")
    reason = serializers.CharField(help_text="Why it is not bound.")
    decision = serializers.IntegerField(allow_null=True, help_text="Its last attempt.")


class GroupExplanationSerializer(serializers.Serializer[Any]):
    namespace = serializers.CharField()
    name = serializers.CharField()
    policy = serializers.ChoiceField(
        ["gang", "basic", ""], help_text="Empty if the PodGroup does not exist."
    )
    min_count = serializers.IntegerField(help_text="The pods that a gang needs; 0 for others.")
    summary = serializers.CharField()
    members = GroupMemberSerializer(many=True, help_text="By name.")


class PodGroupExplanationView(ControlView):
    """Why a group of pods is pending."""

    area = Area.EXPLANATIONS
    path_help = {"name": "Name of the PodGroup."}

    @extend_schema(responses={200: GroupExplanationSerializer, 404: ErrorSerializer})
    def get(self, request: Request, cluster: str, namespace: str, name: str) -> Response:
        """Explain why a pod group is pending.

        Which pods of the group exist, which of them have a node, and which fit nowhere. Pods that
        wait for other members have neither a condition nor an event; their reason is here.
        """
        explained = explain_pod_group(cluster_named(cluster), namespace, name)
        return Response(GroupExplanationSerializer(explained).data)
