"""Serializers of simulations and of questions about capacity."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.api.control.request_shapes import (
    ConfigurationRequestSerializer,
    MomentRequestSerializer,
)
from apps.cluster import limits
from apps.studies.lab import emptying, fitting, planning
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
