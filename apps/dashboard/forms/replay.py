"""The form of a replay: a span, and what is changed."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from apps.cluster.models import Cluster
from apps.dashboard.forms.files import YamlField
from apps.dashboard.forms.lines import LinesField
from apps.engine.profiles import revisions
from apps.studies.replay.span import ReplayRequest


class GatesField(LinesField):
    """`Name=true` per line -> dict of gates."""

    def clean(self, value: Any) -> Any:
        gates = {}
        for place, line in self.lines(value):
            name, _, state = line.partition("=")
            if state.strip().lower() not in ("true", "false"):
                raise ValidationError(f"{place}: {line!r} is not of the form: Name=true")
            gates[name.strip()] = state.strip().lower() == "true"
        return gates


class ReplayForm(forms.Form):
    """Everything may be empty: the whole retained life, unchanged."""

    since = forms.CharField(
        required=False, label="From", help_text="A version or a time: 1h (ago), 09:00."
    )
    until = forms.CharField(required=False, help_text="A version or a time. Empty: now.")
    revision = forms.TypedChoiceField(
        coerce=int, empty_value=None, required=False, label="Configuration"
    )
    configuration = YamlField(
        rows=6,
        label="Or a configuration",
        required=False,
        help_text="A KubeSchedulerConfiguration (v1).",
    )
    feature_gates = GatesField(
        label="Feature gates", rows=2, example="SchedulerAsyncPreemption=false"
    )
    seed = forms.IntegerField(
        required=False, help_text="Selects again among nodes with equal scores. Empty: as recorded."
    )

    def __init__(self, cluster: Cluster, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices: list[tuple[Any, str]] = [("", "as recorded")]
        choices += [
            (each.revision, f"revision {each.revision} {each.name}".strip())
            for each in revisions.revisions_of(cluster)[:50]
        ]
        self.fields["revision"].choices = choices  # type: ignore[attr-defined]

    def build_request(self) -> ReplayRequest:
        """The request of a valid form."""
        typed = self.cleaned_data
        return ReplayRequest(
            since=typed["since"],
            until=typed["until"],
            configuration=typed["configuration"] or "",
            revision=typed["revision"],
            feature_gates=typed["feature_gates"] or {},
            seed=typed["seed"],
        )
