"""The form for a new cluster."""

from __future__ import annotations

from django import forms

from apps.cluster.models import Cluster
from apps.controlplane.clusters import MAX_GENERATED_NODES
from apps.dashboard.forms.refusals import ObjectForm


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
    paused = forms.BooleanField(
        required=False, label="Start paused", help_text="Nothing is scheduled before you resume it."
    )
