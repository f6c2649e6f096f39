"""Serializers of the cluster at past moments."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.studies.past.differences import NodeChange, PodChange

_AMOUNTS = "Resource -> amount, in milli-CPU, bytes or whole units."


def _numbers(help_text: str = "") -> serializers.DictField:
    return serializers.DictField(child=serializers.IntegerField(), help_text=help_text)


class MomentSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField(help_text="The resourceVersion of this state.")
    at = serializers.DateTimeField(help_text="By the cluster's clock.")


class LifeSerializer(serializers.Serializer[Any]):
    first = MomentSerializer(help_text="The first version whose state can be read.")
    now = MomentSerializer()


class NodeCountsSerializer(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    ready = serializers.IntegerField()
    not_ready = serializers.IntegerField()
    unschedulable = serializers.IntegerField(help_text="Cordoned nodes.")


class PodCountsSerializer(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    bound = serializers.IntegerField(help_text="With a node, and not finished.")
    pending = serializers.IntegerField(help_text="Without a node, and not finished.")
    terminating = serializers.IntegerField()
    phases = _numbers("Phase -> number of pods.")


class ResourceUsageSerializer(serializers.Serializer[Any]):
    resource = serializers.CharField()
    requested = serializers.IntegerField(help_text="By pods on nodes that have not finished.")
    allocatable = serializers.IntegerField()


class PastOverviewSerializer(serializers.Serializer[Any]):
    moment = MomentSerializer()
    life = LifeSerializer()
    nodes = NodeCountsSerializer()
    pods = PodCountsSerializer()
    usage = ResourceUsageSerializer(many=True)
    queue = _numbers("Part of the queue -> number of pods.")
    queue_since = serializers.DateTimeField(
        allow_null=True,
        help_text="The oldest recorded move of the queue, if the moment is before it.",
    )
    decision = serializers.IntegerField(
        allow_null=True, help_text="The last decision up to the moment."
    )
    revision = serializers.IntegerField(
        allow_null=True,
        help_text="The configuration of this decision; of the present state, the active one.",
    )


class NodeVersionSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    uid = serializers.UUIDField()
    version = serializers.IntegerField(help_text="The resourceVersion of the node.")
    ready = serializers.BooleanField()
    unschedulable = serializers.BooleanField()
    taints = serializers.ListField(child=serializers.CharField(), help_text="key=value:Effect")
    labels = serializers.DictField(child=serializers.CharField(allow_blank=True))
    allocatable = _numbers(_AMOUNTS)
    requested = _numbers("By its pods that have not finished.")


class PastNodeListSerializer(serializers.Serializer[Any]):
    moment = MomentSerializer()
    total = serializers.IntegerField(help_text="Nodes that match the filters.")
    nodes = NodeVersionSerializer(many=True)


class PodVersionSerializer(serializers.Serializer[Any]):
    namespace = serializers.CharField()
    name = serializers.CharField()
    uid = serializers.UUIDField()
    version = serializers.IntegerField(help_text="The resourceVersion of the pod.")
    node = serializers.CharField(help_text="Empty while it has none.")
    phase = serializers.CharField()
    terminating = serializers.BooleanField()
    priority = serializers.IntegerField()
    scheduler_name = serializers.CharField()
    labels = serializers.DictField(child=serializers.CharField(allow_blank=True))
    requests = _numbers(_AMOUNTS)


class PastPodListSerializer(serializers.Serializer[Any]):
    moment = MomentSerializer()
    total = serializers.IntegerField(help_text="Pods that match the filters.")
    pods = PodVersionSerializer(many=True)


class PodAtSerializer(serializers.Serializer[Any]):
    """What the list of differences shows of a pod at one of the moments."""

    uid = serializers.UUIDField()
    version = serializers.IntegerField()
    node = serializers.CharField()
    phase = serializers.CharField()
    terminating = serializers.BooleanField()
    priority = serializers.IntegerField()


class PodDifferenceSerializer(serializers.Serializer[Any]):
    change = serializers.ChoiceField(
        choices=[change.value for change in PodChange],
        help_text="`moved` and `recreated`: deleted, and a pod with its name was created again, on "
        "another node or not. Of several changes, the first in this order.",
    )
    namespace = serializers.CharField(source="pod.namespace")
    name = serializers.CharField(source="pod.name")
    before = PodAtSerializer(allow_null=True)
    after = PodAtSerializer(allow_null=True)


class FieldDifferenceSerializer(serializers.Serializer[Any]):
    field = serializers.CharField(help_text="`unschedulable`, `labels.zone` …")
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)


class NodeDifferenceSerializer(serializers.Serializer[Any]):
    change = serializers.ChoiceField(choices=[change.value for change in NodeChange])
    name = serializers.CharField()
    fields_changed = FieldDifferenceSerializer(many=True, source="fields")


class PastDifferencesSerializer(serializers.Serializer[Any]):
    before = MomentSerializer(help_text="The moment `from`.")
    after = MomentSerializer(help_text="The moment `to`.")
    pod_changes = _numbers("Change -> number of pods, before filters.")
    node_changes = _numbers("Change -> number of nodes.")
    total = serializers.IntegerField(help_text="Pods that differ and match the filters.")
    pods = PodDifferenceSerializer(many=True)
    nodes = NodeDifferenceSerializer(many=True)
