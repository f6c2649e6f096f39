"""The forms for a new cluster: the common fields, and the fields of each way to create one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError

from apps.administration.clusters import lifecycle
from apps.cluster import limits
from apps.cluster.errors import ApiError
from apps.cluster.manifests.reading import check_texts
from apps.cluster.settings import SETTINGS
from apps.controllers.devices.templates import TEMPLATES, find_fault
from apps.controllers.generating import NodeSize
from apps.dashboard.forms.files import CsvField
from apps.dashboard.forms.lines import LinesField, check_quantity
from apps.dashboard.forms.manifest import DumpForm
from apps.dashboard.forms.object_form import show_error
from apps.dashboard.forms.settings import SettingsForm
from apps.dashboard.forms.yaml_problems import show_in_yaml
from apps.engine.profiles.revisions import ALL_NODES
from apps.studies.importers import openb
from apps.studies.importers.openb import TraceFile


class SizesField(LinesField):
    """`cpu memory [pods]` per line -> list of NodeSize; one default size if it is empty."""

    def clean(self, value: Any) -> Any:
        sizes = []
        for place, line in self.lines(value):
            words = line.split()
            if not 2 <= len(words) <= 3:
                raise ValidationError(f"{place}: {line!r} is not of the form: cpu memory [pods]")
            for word in words:
                check_quantity(word, f"{place}: ")
            sizes.append(NodeSize(*words))
        return sizes or [NodeSize()]


class ClusterForm(SettingsForm):
    """The fields of every new cluster."""

    #: Contents first, then settings.
    field_order = (
        *(
            "name",
            "source",
            "manifest",
            "uploads",
            "nodes_file",
            "pods_file",
            "gpu_devices",
            "nodes",
            "zones",
            "sizes",
        ),
        "devices",
        "control_plane",
        "percentage_of_nodes_to_score",
        "paused",
    )
    #: Fields that are arguments of `create_cluster` unchanged.
    arguments: ClassVar[Sequence[str]] = ("name", "paused")

    name = forms.CharField(
        max_length=63,
        help_text="Lower-case letters, digits and “-”.",
        widget=forms.TextInput({"autofocus": True, "autocomplete": "off", "spellcheck": "false"}),
    )
    paused = forms.BooleanField(
        required=False,
        label="Start paused",
        help_text="No pods are scheduled until you resume the cluster.",
    )

    def clean(self) -> dict[str, Any]:
        typed = super().clean() or self.cleaned_data
        if fault := find_fault(typed.get("devices") or ()):
            self.add_error("devices", fault)
        if name := typed.get("name"):
            try:
                lifecycle.check_new(name)
            except ApiError as refusal:
                show_error(self, refusal)
        return typed

    def cluster(self) -> dict[str, Any]:
        """The arguments of `create_cluster` that were entered."""
        return {name: self.cleaned_data[name] for name in self.arguments}


class OwnSettingsForm(ClusterForm):
    """A new cluster that is not a copy; a setting with an empty field has its default."""

    declared = SETTINGS
    empty_is_default = True

    percentage_of_nodes_to_score = forms.ChoiceField(
        required=False,
        initial=ALL_NODES,
        choices=[(ALL_NODES, "all nodes"), (0, "adaptive, as kube-scheduler")],
        label="Nodes to score",
        help_text="percentageOfNodesToScore. All: every decision shows every node. Adaptive: in "
        "clusters of 100 nodes or more, filtering stops when enough nodes are feasible, and the "
        "others are not evaluated.",
    )

    def cluster(self) -> dict[str, Any]:
        chosen = self.cleaned_data["percentage_of_nodes_to_score"]
        percentage = int(chosen) if chosen else ALL_NODES
        values = {**self.values(), "percentage_of_nodes_to_score": percentage}
        return {**super().cluster(), **values}


class GeneratedForm(OwnSettingsForm):
    """Nodes × zones × sizes."""

    arguments = (*OwnSettingsForm.arguments, "nodes", "zones", "devices", "control_plane")

    nodes = forms.IntegerField(
        initial=10, min_value=0, max_value=limits.NODES.highest, help_text="0: no nodes."
    )
    zones = forms.IntegerField(
        initial=2,
        min_value=limits.ZONES.lowest,
        max_value=limits.ZONES.highest,
        help_text="Nodes are spread evenly across zones.",
    )
    sizes = SizesField(
        label="Node sizes",
        example="8 32Gi 110\n64 256Gi 250",
        help_text="One size per line: CPU, memory, pods. The nodes of each zone cycle through "
        "the sizes. Empty: all nodes have 8 CPUs, 32 GiB and 110 pods.",
    )

    devices = forms.MultipleChoiceField(
        required=False,
        choices=[(each.name, each.label) for each in TEMPLATES.values()],
        widget=forms.CheckboxSelectMultiple,
        help_text="A mock driver publishes them for every node, as ResourceSlices. Pods request "
        "them with a ResourceClaim.",
    )
    control_plane = forms.BooleanField(
        required=False,
        label="Control plane node",
        help_text="A tainted node with the mirror pod of kube-scheduler in kube-system.",
    )

    def cluster(self) -> dict[str, Any]:
        sizes = [[size.cpu, size.memory, size.pods] for size in self.cleaned_data["sizes"]]
        return {**super().cluster(), "sizes": sizes}


class YamlForm(OwnSettingsForm, DumpForm):
    """Objects from manifests, such as an export or a dump of another cluster."""

    def clean(self) -> dict[str, Any]:
        typed = super().clean()
        if not self.errors.keys() & {"manifest", "uploads"}:
            try:
                check_texts(self.texts())
            except ApiError as refusal:
                show_in_yaml(self, "manifest", refusal, files="uploads")
        return typed


class TraceForm(OwnSettingsForm):
    """An openb trace."""

    nodes_file = CsvField(
        label="Nodes (CSV)", help_text="Columns sn, cpu_milli, memory_mib, gpu, model."
    )
    pods_file = CsvField(
        label="Pods (CSV)",
        help_text="Columns name, cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec, qos.",
    )
    gpu_devices = forms.BooleanField(
        required=False,
        label="GPUs as devices",
        help_text="Each GPU is a device, which pods share by ResourceClaims. Otherwise a node has "
        "1000 alibabacloud.com/gpu-milli for each GPU.",
    )

    def clean(self) -> dict[str, Any]:
        typed = super().clean()
        for part, check in (("nodes_file", openb.check_nodes), ("pods_file", openb.check_pods)):
            if file := typed.get(part):
                for message in check(TraceFile(*file)):
                    self.add_error(part, message)
        return typed


class CopyForm(ClusterForm):
    """The objects and the active profile of another cluster, without its history."""

    source = forms.ChoiceField(choices=(), label="Copy of")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["paused"].initial = True

    def offer(self, names: Sequence[str]) -> None:
        """Let the user choose one of these clusters."""
        self.fields["source"] = forms.ChoiceField(
            choices=[(name, name) for name in names],
            label="Copy of",
            help_text="Copies its objects, including bindings, and its active profile. The "
            "copy starts with no decisions or changes.",
        )


#: Way to create a cluster -> (label, form).
WAYS: Mapping[str, tuple[str, type[ClusterForm]]] = {
    "generated": ("Generated nodes", GeneratedForm),
    "yaml": ("From YAML", YamlForm),
    "trace": ("From a trace", TraceForm),
    "copy": ("Copy of a cluster", CopyForm),
}
