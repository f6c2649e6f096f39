"""The forms for a new cluster, and for the settings of one that is there."""

from __future__ import annotations

from django import forms

from apps.cluster.models import Cluster
from apps.controlplane.clusters import MAX_GENERATED_NODES
from apps.dashboard.forms.refusals import ObjectForm

UNSCHEDULABLE_LABEL = "Longest time unschedulable, in seconds"
UNSCHEDULABLE_HELP = (
    "A pod that fits nowhere and that no event has helped for so long is tried again all the same."
)
MOST_SECONDS = 2**31 - 1


class ClusterForm(ObjectForm):
    """The arguments of `create_cluster`."""

    name = forms.CharField(
        max_length=63,
        help_text="Lower-case letters, digits and “-”.",
        widget=forms.TextInput({"autofocus": True, "autocomplete": "off", "spellcheck": "false"}),
    )
    nodes = forms.IntegerField(
        initial=10,
        min_value=0,
        max_value=MAX_GENERATED_NODES,
        help_text="Each with 8 CPUs, 32 GiB and room for 110 pods. 0: begin empty.",
    )
    zones = forms.IntegerField(
        initial=2, min_value=1, max_value=1000, help_text="The nodes are spread over them evenly."
    )
    tie_break = forms.ChoiceField(
        label="Ties",
        choices=Cluster.TieBreak.choices,
        help_text="Which of the best nodes gets the pod when several score the same.",
    )
    seed = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=2**63 - 1,
        help_text="The same seed draws the same nodes again. Empty: a random one.",
    )
    pod_max_in_unschedulable_pods_seconds = forms.IntegerField(
        label=UNSCHEDULABLE_LABEL,
        initial=300,
        min_value=1,
        max_value=MOST_SECONDS,
        help_text=UNSCHEDULABLE_HELP,
    )
    paused = forms.BooleanField(
        required=False, label="Start paused", help_text="Nothing is scheduled before you resume it."
    )


class ClusterSettingsForm(ObjectForm):
    """`SETTINGS` of a cluster: what can be changed while it runs."""

    pod_max_in_unschedulable_pods_seconds = forms.IntegerField(
        label=UNSCHEDULABLE_LABEL,
        min_value=1,
        max_value=MOST_SECONDS,
        help_text=UNSCHEDULABLE_HELP,
    )
    controllers = forms.BooleanField(
        required=False,
        label="Controllers act",
        help_text="Node lifecycle, evictions, workloads, volumes, garbage collection.",
    )
    kubelet = forms.BooleanField(
        required=False,
        label="Nodes have a mock kubelet",
        help_text="It runs the pods that are bound to its node, and ends them.",
    )
