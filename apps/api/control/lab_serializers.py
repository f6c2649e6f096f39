"""Serializers of simulations and of questions about capacity."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.api.control.request_shapes import (
    ConfigurationRequestSerializer,
    MomentRequestSerializer,
)
from apps.api.control.serializers import (
    ExtenderCallSerializer,
    PermitWaitSerializer,
    PreemptionSerializer,
    RefusalGroupSerializer,
    ScoresSerializer,
    SearchSerializer,
    StatusSerializer,
)
from apps.cluster import limits
from apps.studies.lab import emptying, fitting, planning
from apps.studies.lab.changes import Origin
from apps.studies.lab.run import MAX_EXPLAINED

_NAMES = "Names of nodes."


class _ObjectsField(serializers.JSONField):
    """YAML text, or a list of objects."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            data = [data]
        is_list = isinstance(data, list) and all(isinstance(each, dict) for each in data)
        if not isinstance(data, str) and not is_list:
            raise serializers.ValidationError("must be YAML text or a list of objects")
        return data


class _StateRequestSerializer(MomentRequestSerializer, ConfigurationRequestSerializer):
    """The state, the configuration, and what changes before the question is answered."""

    seed = serializers.IntegerField(
        default=0, help_text="The draws among nodes with the same score follow from it."
    )
    cordon = serializers.ListField(child=serializers.CharField(), default=list, help_text=_NAMES)
    uncordon = serializers.ListField(child=serializers.CharField(), default=list, help_text=_NAMES)
    drain = serializers.ListField(
        child=serializers.CharField(),
        default=list,
        help_text="Nodes that are cordoned and whose pods are evicted. Pods with a controller are "
        "created again; those of DaemonSets stay.",
    )
    delete_nodes = serializers.ListField(
        child=serializers.CharField(), default=list, help_text="Nodes that are deleted: they died."
    )
    delete_pods = serializers.ListField(
        child=serializers.CharField(), default=list, help_text="`namespace/name` of pods."
    )


class SimulationRequestSerializer(_StateRequestSerializer):
    objects = _ObjectsField(
        required=False,
        help_text="YAML text, or a list of objects: pods and workloads, whose pods are scheduled; "
        "nodes, which are added or, if they exist, merged into the existing ones; other objects "
        "that the scheduler reads.",
    )
    copies = serializers.IntegerField(
        default=1, min_value=1, max_value=limits.LAB_COPIES.highest, help_text="Of each given pod."
    )
    pending = serializers.BooleanField(
        default=True, help_text="Whether pods that wait in the cluster are scheduled as well."
    )
    explain = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        max_length=MAX_EXPLAINED,
        help_text="`namespace/name` of the pods whose decision is explained in full; by default "
        f"the first {MAX_EXPLAINED // 2} that are placed and that are not.",
    )


class FittingRequestSerializer(_StateRequestSerializer):
    objects = _ObjectsField(help_text="One pod; and nodes and other objects, as in simulations.")
    limit = serializers.IntegerField(
        default=fitting.DEFAULT_LIMIT,
        min_value=1,
        max_value=limits.FITTING_PODS.highest,
        help_text="Copies that are tried at most.",
    )


class ShapeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=200)
    node = serializers.DictField(
        help_text="A Node manifest: labels, taints and `status.allocatable`."
    )
    price = serializers.FloatField(default=1.0, min_value=0, help_text="Of one node, in any unit.")


class PlanRequestSerializer(_StateRequestSerializer):
    objects = _ObjectsField(required=False, help_text="The pods and workloads that need room.")
    copies = serializers.IntegerField(default=1, min_value=1, max_value=limits.LAB_COPIES.highest)
    pending = serializers.BooleanField(
        default=True, help_text="Whether pods that wait in the cluster need room as well."
    )
    shapes = ShapeSerializer(
        many=True, allow_empty=False, help_text=f"{limits.PLANNED_SHAPES.highest} at most."
    )
    max_nodes = serializers.IntegerField(
        default=planning.DEFAULT_NODES,
        min_value=1,
        max_value=limits.PLANNED_NODES.highest,
        help_text="Nodes of one shape at most.",
    )


class EmptyingRequestSerializer(_StateRequestSerializer):
    nodes = serializers.ListField(
        child=serializers.CharField(),
        default=list,
        max_length=limits.EMPTIED_NODES.highest,
        help_text="The nodes to try; by default those with the fewest pods.",
    )
    limit = serializers.IntegerField(
        default=emptying.DEFAULT_NODES,
        min_value=1,
        max_value=limits.EMPTIED_NODES.highest,
        help_text="How many nodes to try if none are named.",
    )


class FailuresRequestSerializer(_StateRequestSerializer):
    nodes = serializers.ListField(
        child=serializers.CharField(),
        default=list,
        max_length=limits.FAILED_NODES.highest,
        help_text="The nodes that die, each alone; by default all of a cluster of "
        f"{limits.FAILED_NODES.highest} nodes or fewer.",
    )


class LabStateSerializer(serializers.Serializer[Any]):
    """The one state from which everything in the answer follows."""

    cluster = serializers.CharField()
    resource_version = serializers.IntegerField()
    at = serializers.DateTimeField(help_text="By the cluster's clock.")
    decision = serializers.IntegerField(allow_null=True)
    revision = serializers.IntegerField(
        allow_null=True, help_text="Of the configuration; null for a given one."
    )
    feature_gates = serializers.DictField(child=serializers.BooleanField())


class SimulatedExplanationSerializer(serializers.Serializer[Any]):
    """The fields of a recorded decision. Lists of nodes have the first 100 only."""

    refusals = RefusalGroupSerializer(many=True)
    scores = ScoresSerializer()
    ties = serializers.ListField(child=serializers.CharField())
    pre_filter = StatusSerializer(allow_null=True)
    rejection = StatusSerializer(allow_null=True)
    search = SearchSerializer()
    preemption = PreemptionSerializer(allow_null=True)
    durations = serializers.DictField(child=serializers.IntegerField())
    plugin_durations = serializers.DictField(
        child=serializers.DictField(child=serializers.IntegerField())
    )
    extender_calls = ExtenderCallSerializer(many=True)
    permit_wait = PermitWaitSerializer(allow_null=True)


class SimulatedPodSerializer(serializers.Serializer[Any]):
    namespace = serializers.CharField()
    name = serializers.CharField()
    origin = serializers.ChoiceField(
        [each.value for each in Origin],
        help_text="`new`: given. `pending`: it waits in the cluster. `replacement`: its controller "
        "creates it for a pod that was evicted or deleted.",
    )
    left = serializers.CharField(help_text="The node of the pod that it replaces.")
    node = serializers.CharField(help_text="Empty: it is not placed.")
    nominated_node = serializers.CharField(help_text="Where preemption makes room for it.")
    attempts = serializers.IntegerField()
    total_score = serializers.IntegerField(allow_null=True)
    feasible_nodes = serializers.IntegerField()
    tied_nodes = serializers.IntegerField(help_text="Nodes with the highest total score.")
    message = serializers.CharField(help_text="As kube-scheduler reports it.")
    sentence = serializers.CharField(help_text="Why this node, or why none.")
    explanation = SimulatedExplanationSerializer(
        allow_null=True, help_text="The last attempt; null if it is not explained."
    )


class PreemptedPodSerializer(serializers.Serializer[Any]):
    namespace = serializers.CharField()
    name = serializers.CharField()
    uid = serializers.CharField()
    node = serializers.CharField()
    priority = serializers.IntegerField()
    by = serializers.CharField(help_text="`namespace/name` of the pod that got the room.")


class MovedPodSerializer(serializers.Serializer[Any]):
    namespace = serializers.CharField()
    name = serializers.CharField()
    left = serializers.CharField(help_text="The node of the pod that it replaces.")
    node = serializers.CharField()


class LostPodSerializer(serializers.Serializer[Any]):
    namespace = serializers.CharField()
    name = serializers.CharField()
    node = serializers.CharField()
    reason = serializers.CharField()


class SimulationSerializer(serializers.Serializer[Any]):
    state = LabStateSerializer()
    placed = SimulatedPodSerializer(many=True)
    not_placed = SimulatedPodSerializer(many=True)
    preempted = PreemptedPodSerializer(many=True)
    moved = MovedPodSerializer(many=True, help_text="Replacements that have a node.")
    lost = LostPodSerializer(many=True, help_text="Deleted pods that no controller replaces.")
    attempts = serializers.IntegerField()
    seconds = serializers.FloatField(help_text="How much time passed on the virtual clock.")
    quiet = serializers.BooleanField(help_text="False: it ended because pods were tried too often.")


class FittingSerializer(serializers.Serializer[Any]):
    state = LabStateSerializer()
    pod = serializers.CharField()
    count = serializers.IntegerField(help_text="Copies that fit.")
    limited = serializers.BooleanField(help_text="The limit was reached: more copies may fit.")
    nodes = serializers.DictField(
        child=serializers.IntegerField(), help_text="Node -> copies, most first."
    )
    sentence = serializers.CharField(help_text="Why the next copy does not fit.")
    message = serializers.CharField(help_text="As kube-scheduler reports it.")


class ShapeAnswerSerializer(serializers.Serializer[Any]):
    shape = serializers.CharField()
    price = serializers.FloatField()
    nodes = serializers.IntegerField(
        allow_null=True, help_text="With this shape alone; null: `max_nodes` are not enough."
    )
    cost = serializers.FloatField(allow_null=True)


class PlanSerializer(serializers.Serializer[Any]):
    state = LabStateSerializer()
    shapes = ShapeAnswerSerializer(many=True)
    mix = serializers.DictField(
        child=serializers.IntegerField(),
        allow_null=True,
        help_text="Shape -> nodes to add; null: no number of nodes is enough.",
    )
    cost = serializers.FloatField(help_text="Of the mix.")
    method = serializers.CharField()
    placed = serializers.IntegerField(help_text="Pods that have a node with the mix.")
    impossible = serializers.DictField(
        child=serializers.CharField(),
        help_text="Pods that have no node with any number of nodes -> the scheduler's message.",
    )


class EmptiedNodeSerializer(serializers.Serializer[Any]):
    node = serializers.CharField()
    can_be_emptied = serializers.BooleanField()
    together = serializers.BooleanField(help_text="It is one of `together`.")
    moves = serializers.DictField(
        child=serializers.CharField(), help_text="`namespace/name` -> node, of this node alone."
    )
    blocked_by = serializers.CharField(help_text="The pod that fits nowhere else.")
    reason = serializers.CharField()
    unmanaged = serializers.ListField(
        child=serializers.CharField(), help_text="Pods that no controller would create again."
    )


class EmptyingSerializer(serializers.Serializer[Any]):
    state = LabStateSerializer()
    together = serializers.ListField(
        child=serializers.CharField(), help_text="Nodes that can be emptied at the same time."
    )
    nodes = EmptiedNodeSerializer(many=True)


class FailedPodSerializer(serializers.Serializer[Any]):
    namespace = serializers.CharField()
    name = serializers.CharField()
    sentence = serializers.CharField()


class NodeFailureSerializer(serializers.Serializer[Any]):
    node = serializers.CharField()
    moved = serializers.IntegerField(help_text="Pods that run elsewhere.")
    waiting = serializers.IntegerField(help_text="Pods that wait, those of victims among them.")
    preempted = serializers.IntegerField()
    lost = LostPodSerializer(many=True)
    not_placed = FailedPodSerializer(many=True)


class FailuresSerializer(serializers.Serializer[Any]):
    state = LabStateSerializer()
    nodes = NodeFailureSerializer(many=True, help_text="The one that hurts most first.")
