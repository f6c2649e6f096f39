"""Serializers of clusters, with a field for each setting."""

from __future__ import annotations

from typing import Any, TypeAlias

from rest_framework import serializers
from rest_framework.fields import empty

from apps.api.control.request_shapes import StrictSerializer
from apps.cluster.models import Cluster
from apps.cluster.roles import Visibility
from apps.cluster.settings import CHANGEABLE, SETTINGS, Setting
from apps.controllers.devices.templates import TEMPLATES
from apps.engine.models import PastCluster
from apps.engine.profiles.revisions import ALL_NODES

_INT64: dict[str, Any] = {"min_value": -(1 << 63), "max_value": (1 << 63) - 1}

AnyField: TypeAlias = "serializers.Field[Any, Any, Any, Any]"


def setting_field(setting: Setting) -> AnyField:
    """The field of one setting. It checks the type; the model's rules then check the value.

    An omitted field has the setting's default in a new cluster, and does not change an existing
    one.
    """
    given: dict[str, Any] = {
        "default": empty if setting.draw else setting.default,
        "required": False if setting.draw else None,
        "help_text": f"{setting.help} {_describe_who_changes(setting)}",
    }
    if setting.follows_site:
        given |= {"allow_null": True}
    match setting.kind:
        case "switch":
            return serializers.BooleanField(**given)
        case "number":
            return serializers.IntegerField(**given, **_INT64)
        case "choice":
            return serializers.ChoiceField(choices=setting.choices, **given)
        case "plugins":
            return serializers.JSONField(**given)


def _describe_who_changes(setting: Setting) -> str:
    if setting.changed_by == "no one":
        return "Set when the cluster is created; cannot be changed later."
    site = " Null: the default of the site." if setting.follows_site else ""
    return f"Can be changed by {setting.changed_by}.{site}"


class ClusterSerializer(serializers.ModelSerializer[Cluster]):
    kubernetes_api = serializers.SerializerMethodField(
        help_text="Root of the cluster's Kubernetes API."
    )

    class Meta:
        model = Cluster
        fields = (
            "name",
            "uid",
            "created_at",
            "paused",
            *(each.name for each in SETTINGS),
            "resource_version",
            "kubernetes_api",
        )
        extra_kwargs = {each.name: {"help_text": each.help} for each in SETTINGS}

    def get_kubernetes_api(self, cluster: Cluster) -> str:
        request = self.context["request"]
        return str(request.build_absolute_uri(f"/k8s/{cluster.name}"))


class PastClusterSerializer(serializers.ModelSerializer[PastCluster]):
    class Meta:
        model = PastCluster
        fields = (
            "id",
            "name",
            "uid",
            "created_at",
            "deleted_at",
            "user",
            "tie_break",
            "seed",
            "resource_version",
        )


class NewClusterSerializer(StrictSerializer):
    name = serializers.CharField()
    nodes = serializers.IntegerField(default=0, help_text="Ready nodes to create.")
    zones = serializers.IntegerField(default=1, help_text="Zones that the nodes are spread across.")
    devices = serializers.ListField(
        child=serializers.CharField(),
        default=list,
        help_text="Templates of the devices that the mock driver publishes for each of these "
        f"nodes: {', '.join(TEMPLATES)}.",
    )
    control_plane = serializers.BooleanField(
        default=False,
        help_text="Also create a tainted node with the mirror pod of kube-scheduler.",
    )
    paused = serializers.BooleanField(default=False)
    percentage_of_nodes_to_score = serializers.IntegerField(
        default=ALL_NODES,
        help_text="Of the first configuration. 100: every decision shows every node. 0: adaptive, "
        "as kube-scheduler's default: filtering stops when enough nodes are feasible.",
    )
    visibility = serializers.ChoiceField(
        Visibility.values,
        default=Visibility.MEMBERS.value,
        help_text="Who sees it: `private`, `members` or `everyone`.",
    )

    def get_fields(self) -> dict[str, AnyField]:
        return {**super().get_fields(), **{each.name: setting_field(each) for each in SETTINGS}}


class ClusterSettingsSerializer(serializers.Serializer[Any]):
    """The settings that can be changed; the model's rules check the values."""

    def get_fields(self) -> dict[str, AnyField]:
        return {each.name: setting_field(each) for each in CHANGEABLE}
