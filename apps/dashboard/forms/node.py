"""The form for a new node."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from apps.controllers.devices.templates import ANNOTATION, TEMPLATES, find_fault
from apps.controllers.kubelet.registration import node_labels, node_status
from apps.dashboard.forms.lines import AmountsField, LabelsField, QuantityField, TaintsField
from apps.dashboard.forms.object_form import ObjectForm
from apps.dashboard.queries.usage import ZONE_LABEL


class NodeForm(ObjectForm):
    """A node's capacity, labels and taints; all of the capacity is allocatable."""

    paths = {
        "metadata.name": "name",
        "metadata.labels": "labels",
        "spec.taints": "taints",
        # the path in the API server's error messages
        "metadata.taints": "taints",
        "status.capacity": "extended",
        "status.allocatable": "extended",
        "status.capacity[cpu]": "cpu",
        "status.allocatable[cpu]": "cpu",
        "status.capacity[memory]": "memory",
        "status.allocatable[memory]": "memory",
        "status.capacity[pods]": "pods",
        "status.allocatable[pods]": "pods",
    }

    name = forms.CharField(
        max_length=253,
        widget=forms.TextInput({"autofocus": True, "autocomplete": "off", "spellcheck": "false"}),
    )
    zone = forms.CharField(required=False, max_length=63, help_text=f"Sets the label {ZONE_LABEL}.")
    cpu = QuantityField(label="CPU", initial="8", help_text="Cores, such as 8 or 7800m.")
    memory = QuantityField(initial="32Gi", help_text="Bytes, such as 32Gi.")
    pods = QuantityField(initial="110", help_text="Maximum number of pods.")
    extended = AmountsField(
        label="Other resources",
        example="example.com/gpu=4\nephemeral-storage=100Gi",
        help_text="One resource=quantity per line.",
    )
    labels = LabelsField(example="disktype=ssd", help_text="One key=value per line.")
    taints = TaintsField(
        example="dedicated=gpu:NoSchedule", help_text="One key=value:Effect per line."
    )
    devices = forms.MultipleChoiceField(
        required=False,
        choices=[(each.name, each.label) for each in TEMPLATES.values()],
        widget=forms.CheckboxSelectMultiple,
        help_text="A mock driver publishes them as ResourceSlices.",
    )
    ready = forms.BooleanField(
        required=False, initial=True, help_text="Sets the Ready condition to True."
    )
    unschedulable = forms.BooleanField(
        required=False, label="Cordoned", help_text="No new pods are scheduled to it."
    )

    def clean_devices(self) -> list[str]:
        chosen: list[str] = self.cleaned_data["devices"]
        if fault := find_fault(chosen):
            raise ValidationError(fault)
        return chosen

    def body(self) -> dict[str, Any]:
        """The node as entered."""
        typed = self.values()
        capacity = {name: typed[name] for name in ("cpu", "memory", "pods")} | typed["extended"]
        status = node_status(typed["name"], datetime.now(UTC))
        if not typed["ready"]:
            (ready,) = (each for each in status["conditions"] if each["type"] == "Ready")
            ready |= {"status": "False", "reason": "KubeletNotReady", "message": ""}
        spec: dict[str, Any] = {"taints": typed["taints"]} if typed["taints"] else {}
        if typed["unschedulable"]:
            spec["unschedulable"] = True
        named = ",".join(typed["devices"])
        annotations = {"annotations": {ANNOTATION: named}} if named else {}
        return {
            "metadata": {"name": typed["name"], "labels": self._labels(), **annotations},
            "spec": spec,
            "status": {"capacity": capacity, "allocatable": capacity, **status},
        }

    def _labels(self) -> dict[str, str]:
        typed = self.values()
        labels = node_labels(typed["name"])
        if typed["zone"]:
            labels[ZONE_LABEL] = typed["zone"]
        labels.update(typed["labels"])
        return labels
