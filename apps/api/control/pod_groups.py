"""Explanations of pod groups."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.errors import BadRequest
from apps.cluster.queries import cluster_named
from apps.engine.models import GroupAttempt
from apps.studies.explanations.pending_groups import Standing, explain_pod_group


class MemberRefusalSerializer(serializers.Serializer[Any]):
    plugin = serializers.CharField()
    reason = serializers.CharField()
    count = serializers.IntegerField(help_text="How many nodes were refused so.")
    nodes = serializers.ListField(
        source="first_nodes", child=serializers.CharField(), help_text="The first ones, by name."
    )


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
    decision = serializers.IntegerField(
        allow_null=True, help_text="Its last attempt, or the one with the group."
    )
    feasible_nodes = serializers.IntegerField(help_text="Nodes on which it would fit.")
    nodes = serializers.IntegerField(help_text="Nodes of the cluster at its attempt.")
    refusals = MemberRefusalSerializer(many=True, help_text="Why it fits on no other node.")
    after = serializers.ListField(
        child=serializers.CharField(),
        help_text="Members tried before it that had a node: it saw them there.",
    )


class GroupAttemptSerializer(serializers.ModelSerializer[GroupAttempt]):
    placed = serializers.SerializerMethodField(help_text="How many members had a node.")
    tried = serializers.SerializerMethodField(help_text="How many members were tried.")

    class Meta:
        model = GroupAttempt
        fields = (
            "id",
            "at",
            "result",
            "message",
            "min_count",
            "placed",
            "tried",
            "cluster_version",
            "profile_revision",
        )

    def get_placed(self, attempt: GroupAttempt) -> int:
        return attempt.placed

    def get_tried(self, attempt: GroupAttempt) -> int:
        return len(attempt.members)


class PlacementScoreSerializer(serializers.Serializer[Any]):
    plugin = serializers.CharField()
    score = serializers.IntegerField(help_text="Normalized, 0 to 100.")
    weight = serializers.IntegerField()


class PlacementSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The value of the label.")
    nodes = serializers.IntegerField(help_text="How many nodes have it.")
    placed = serializers.IntegerField(help_text="How many of the tried members had a node there.")
    fits = serializers.BooleanField()
    chosen = serializers.BooleanField(help_text="Whether the members were scheduled there.")
    failing = serializers.CharField(help_text="The first member without a node; empty if none.")
    message = serializers.CharField(help_text="Why it has none.")
    scores = PlacementScoreSerializer(
        many=True, help_text="If the group fits in several domains; the greatest sum is chosen."
    )


class GroupVictimSerializer(serializers.Serializer[Any]):
    namespace = serializers.CharField()
    name = serializers.CharField()
    node = serializers.CharField()
    group = serializers.CharField(
        help_text="The group with which the pod was evicted as a whole; empty if it was alone."
    )
    priority = serializers.IntegerField(help_text="Of the group of the pod, if it has one.")


class GroupExplanationSerializer(serializers.Serializer[Any]):
    namespace = serializers.CharField()
    name = serializers.CharField()
    policy = serializers.ChoiceField(
        ["gang", "basic", ""], help_text="Empty if the PodGroup does not exist."
    )
    min_count = serializers.IntegerField(help_text="The pods that a gang needs; 0 for others.")
    summary = serializers.CharField()
    members = GroupMemberSerializer(
        many=True, help_text="By name; those of an attempt in the order of their trials."
    )
    attempts = GroupAttemptSerializer(
        many=True, help_text="The last attempts with the group, newest first."
    )
    attempt = GroupAttemptSerializer(
        allow_null=True, help_text="The attempt that is explained; null for the group as it is."
    )
    placements = PlacementSerializer(
        many=True,
        help_text=(
            "The topology domains in which the explained or last attempt tried the group, by name; "
            "empty without a topology constraint."
        ),
    )
    victims = GroupVictimSerializer(
        many=True,
        help_text="The pods that the explained or last attempt evicted for the whole group.",
    )


class PodGroupExplanationView(ControlView):
    """Why a group of pods is pending."""

    area = Area.EXPLANATIONS
    path_help = {"name": "Name of the PodGroup."}

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "group_attempt",
                str,
                default="",
                description="Id of a past attempt, to be explained instead; by default none.",
            )
        ],
        responses={200: GroupExplanationSerializer, 400: ErrorSerializer, 404: ErrorSerializer},
    )
    def get(self, request: Request, cluster: str, namespace: str, name: str) -> Response:
        """Explain why a pod group is pending.

        Which pods of the group exist, which of them have a node, and which fit nowhere. Pods that
        wait for other members have neither a condition nor an event; their reason is here. With
        `group_attempt`, one of the listed attempts is explained, with the decisions of its members.
        """
        reject_unknown(request, {"group_attempt", "format"})
        text = request.query_params.get("group_attempt", "")
        if text and not (text.isascii() and text.isdecimal() and len(text) <= 18):
            raise BadRequest("group_attempt: must be the id of an attempt with the group")
        attempt = int(text) if text else None
        explained = explain_pod_group(cluster_named(cluster), namespace, name, attempt=attempt)
        return Response(GroupExplanationSerializer(explained).data)
