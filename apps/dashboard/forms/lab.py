"""The form of the lab: a question, what changes first, and the state it starts from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from apps.cluster import limits
from apps.cluster.models import Cluster
from apps.dashboard.forms.files import YamlField
from apps.dashboard.forms.lines import LinesField, NamesField, check_quantity
from apps.engine.profiles import revisions
from apps.studies.lab.planning import Shape
from apps.studies.lab.simulation import SimulationRequest

SIMULATE, FIT, NODES, EMPTIABLE, FAILURES = "simulate", "fit", "nodes", "emptiable", "failures"
QUESTIONS = (
    (SIMULATE, "What would happen"),
    (FIT, "How many more of a pod fit"),
    (NODES, "How many nodes are needed"),
    (EMPTIABLE, "Which nodes could be emptied"),
    (FAILURES, "What if a node dies"),
)
_POD_EXAMPLE = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: main
    image: registry.example/web
    resources: {requests: {cpu: 500m, memory: 512Mi}}
"""


class ShapesField(LinesField):
    """`name cpu memory price [pods]` per line -> list of Shape."""

    def clean(self, value: Any) -> Any:
        shapes = []
        for place, line in self.lines(value):
            words = line.split()
            if not 4 <= len(words) <= 5:
                raise ValidationError(
                    f"{place}: {line!r} is not of the form: name cpu memory price [pods]"
                )
            name, cpu, memory, price, *pods = words
            for amount in (cpu, memory, *pods):
                check_quantity(amount, f"{place}: ")
            amounts = {"cpu": cpu, "memory": memory, "pods": pods[0] if pods else "110"}
            shapes.append(
                Shape(name, {"status": {"allocatable": amounts}}, _parse_price(price, place))
            )
        return shapes


class LabForm(forms.Form):
    """What the lab is asked; fields that a question does not need are ignored."""

    ask = forms.ChoiceField(choices=QUESTIONS, label="Question", initial=SIMULATE)
    objects = YamlField(
        rows=6,
        label="Pods, workloads and nodes",
        required=False,
        example=_POD_EXAMPLE,
        help_text="Pods, and the pods of workloads, are scheduled. Nodes are added; one that "
        "exists is changed.",
    )
    copies = forms.IntegerField(
        min_value=1, max_value=limits.LAB_COPIES.highest, required=False, label="Copies of each pod"
    )
    drain = NamesField(label="Drain nodes", rows=2, example="node-1")
    delete_nodes = NamesField(label="Delete nodes", rows=2, help_text="As if they had failed.")
    cordon = NamesField(label="Cordon nodes", rows=2)
    uncordon = NamesField(label="Uncordon nodes", rows=2)
    delete_pods = NamesField(label="Delete pods", rows=2, example="default/web-1")
    pending = forms.BooleanField(
        required=False, initial=True, label="Schedule the pods that are pending now as well"
    )
    nodes = NamesField(
        label="Nodes that the question is about",
        rows=2,
        help_text="To be emptied, or to die, each alone. If none is named: to be emptied, those "
        "with the fewest pods; to die, all of a cluster of at most "
        f"{limits.FAILED_NODES.highest}.",
    )
    shapes = ShapesField(
        label="Shapes of new nodes",
        rows=3,
        example="small 4 16Gi 0.20\nlarge 16 64Gi 0.72",
        help_text="Name, CPU, memory, price and, optionally, pods. One shape per line.",
    )
    revision = forms.TypedChoiceField(
        coerce=int, empty_value=None, required=False, label="Configuration"
    )
    configuration = YamlField(
        rows=6,
        label="Or a configuration",
        required=False,
        help_text="A KubeSchedulerConfiguration (v1).",
    )
    version = forms.IntegerField(
        required=False, min_value=0, help_text="The state at this version of the cluster."
    )
    at = forms.CharField(
        required=False, label="Time", help_text="Or at this time: 1h (ago), 09:00."
    )
    decision = forms.IntegerField(
        required=False, min_value=1, help_text="Or the state that this decision saw."
    )

    def __init__(self, cluster: Cluster, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices: list[tuple[Any, str]] = [("", "the active revision")]
        choices += [
            (each.revision, f"revision {each.revision} {each.name}".strip())
            for each in revisions.revisions_of(cluster)[:50]
        ]
        self.fields["revision"].choices = choices  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        typed: dict[str, Any] = super().clean() or self.cleaned_data
        ask = typed.get("ask")
        if ask == NODES and not typed.get("shapes") and "shapes" not in self.errors:
            self.add_error(
                "shapes",
                f"1 to {limits.PLANNED_SHAPES.highest} shapes are required for this question.",
            )
        if ask == FIT and not typed.get("objects") and "objects" not in self.errors:
            self.add_error("objects", "A pod is required for this question.")
        return typed

    def build_request(self) -> SimulationRequest:
        """The request of a valid form."""
        typed = self.cleaned_data
        moment = {
            name: typed[name] for name in ("version", "at", "decision") if _given(typed[name])
        }
        return SimulationRequest(
            objects=typed["objects"],
            copies=typed["copies"] or 1,
            cordon=typed["cordon"],
            uncordon=typed["uncordon"],
            drain=typed["drain"],
            delete_nodes=typed["delete_nodes"],
            delete_pods=typed["delete_pods"],
            pending=typed["pending"],
            moment=moment,
            configuration=typed["configuration"],
            revision=typed["revision"],
        )

    @property
    def asked(self) -> str:
        """The label of the question."""
        return dict(QUESTIONS).get(self["ask"].value(), "")

    @property
    def groups(self) -> Sequence[tuple[str, Sequence[forms.BoundField], bool]]:
        """The fields by what they are about, the question first; whether one is filled or wrong."""
        names = (
            ("", ("ask", "nodes", "shapes", "objects", "copies", "pending")),
            (
                "Nodes and pods that change first",
                ("drain", "delete_nodes", "cordon", "uncordon", "delete_pods"),
            ),
            ("Another configuration", ("revision", "configuration")),
            ("A past state instead of the present one", ("version", "at", "decision")),
        )
        groups = [(title, [self[name] for name in fields]) for title, fields in names]
        return [
            (title, fields, any(field.errors or field.value() for field in fields))
            for title, fields in groups
        ]


def _given(value: Any) -> bool:
    return value is not None and value != ""


def _parse_price(text: str, place: str) -> float:
    try:
        price = float(text)
    except ValueError:
        price = -1.0
    if not 0 <= price < 1e12:
        raise ValidationError(f"{place}: {text!r} is not a price")
    return price
