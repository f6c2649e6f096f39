"""The form for new pods."""

from __future__ import annotations

from typing import Any

from django import forms

from apps.cluster import limits
from apps.cluster.models import Cluster, Namespace, PriorityClass
from apps.dashboard.forms.lines import (
    AmountsField,
    LabelsField,
    NamesField,
    QuantityField,
    SuggestedField,
    TolerationsField,
)
from apps.dashboard.forms.object_form import ObjectForm
from apps.engine.queries import list_scheduler_names

_REQUESTS = "spec.containers[0].resources.requests"


class PodForm(ObjectForm):
    """A pod of one container, or several such pods."""

    paths = {
        "metadata.name": "name",
        "metadata.namespace": "namespace",
        "metadata.labels": "labels",
        "spec.nodeSelector": "node_selector",
        "spec.tolerations": "tolerations",
        "spec.priority": "priority_class",
        "spec.schedulingGates": "gates",
        "spec.schedulerName": "scheduler_name",
        _REQUESTS: "extended",
        f"{_REQUESTS}[cpu]": "cpu",
        f"{_REQUESTS}.cpu": "cpu",
        f"{_REQUESTS}[memory]": "memory",
        f"{_REQUESTS}.memory": "memory",
    }

    name = forms.CharField(
        max_length=253,
        widget=forms.TextInput({"autofocus": True, "autocomplete": "off", "spellcheck": "false"}),
    )
    copies = forms.IntegerField(
        initial=1,
        min_value=1,
        max_value=limits.COPIED_PODS.highest,
        help_text="With more than one, the pods are named name-1, name-2, and so on.",
    )
    namespace = forms.ChoiceField(choices=())
    cpu = QuantityField(label="CPU", required=False, help_text="Requested cores: 500m, 2.")
    memory = QuantityField(required=False, help_text="Requested bytes: 128Mi, 2Gi.")
    extended = AmountsField(
        label="Other requests",
        example="example.com/gpu=1",
        help_text="One resource=quantity per line.",
    )
    labels = LabelsField(example="app=web", help_text="One key=value per line.")
    node_selector = LabelsField(example="disktype=ssd", help_text="Labels a node must have.")
    tolerations = TolerationsField(
        example="dedicated=gpu:NoSchedule",
        help_text="key=value:Effect, key:Effect, key, or *, one per line.",
    )
    gates = NamesField(
        label="Scheduling gates",
        example="example.com/quota",
        help_text="One name per line. The pod is not scheduled until they are removed.",
    )
    priority_class = forms.ChoiceField(choices=(), required=False)
    scheduler_name = SuggestedField(
        initial="default-scheduler",
        help_text="The profile that schedules it. A pod of another scheduler stays pending.",
    )

    def __init__(self, *args: Any, cluster: Cluster, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        namespaces = Namespace.objects.filter(cluster=cluster).order_by("name")
        self.fields["namespace"] = forms.ChoiceField(
            choices=[(name, name) for name in namespaces.values_list("name", flat=True)],
            initial="default",
        )
        scheduler_name = self.fields["scheduler_name"]
        assert isinstance(scheduler_name, SuggestedField)
        scheduler_name.suggest(list_scheduler_names(cluster), list_id="profiles")
        classes = PriorityClass.objects.filter(cluster=cluster).order_by("-value")
        values = classes.values_list("name", "value")
        self.fields["priority_class"] = forms.ChoiceField(
            choices=[("", "none"), *((name, f"{name} ({value:,})") for name, value in values)],
            required=False,
        )

    def bodies(self) -> list[dict[str, Any]]:
        """The pods as entered."""
        name, copies = self.values()["name"], self.values()["copies"]
        if copies == 1:
            return [self._body(name)]
        return [self._body(f"{name}-{number}") for number in range(1, copies + 1)]

    def _body(self, name: str) -> dict[str, Any]:
        typed = self.values()
        requests = {name: typed[name] for name in ("cpu", "memory") if typed[name]}
        requests |= typed["extended"]
        # extended resources cannot be overcommitted: limits must equal requests
        limits = {name: amount for name, amount in requests.items() if "/" in name}
        resources = {"requests": requests, **({"limits": limits} if limits else {})}
        spec = {
            "containers": [{"name": "main", "image": "example/main:1", "resources": resources}],
            "schedulerName": typed["scheduler_name"],
            "nodeSelector": typed["node_selector"],
            "tolerations": typed["tolerations"],
            "schedulingGates": [{"name": gate} for gate in typed["gates"]],
            "priorityClassName": typed["priority_class"],
        }
        return {
            "metadata": {"name": name, "namespace": typed["namespace"], "labels": typed["labels"]},
            "spec": {key: value for key, value in spec.items() if value},
        }
