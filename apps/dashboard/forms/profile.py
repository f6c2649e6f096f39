"""The form for a new revision of the scheduler's configuration."""

from __future__ import annotations

from typing import Any

from django import forms

from apps.dashboard.forms.files import YamlField
from apps.dashboard.forms.object_form import ObjectForm


class ProfileForm(ObjectForm):
    """A KubeSchedulerConfiguration as YAML, and what it is saved as."""

    configuration = YamlField(rows=32, label="Configuration")
    legacy = forms.BooleanField(
        required=False,
        label="Legacy",
        help_text="Converted from an older version: may use plugins of earlier releases.",
    )
    name = forms.CharField(
        required=False, max_length=63, help_text="To find it again; a draft requires a name."
    )
    note = forms.CharField(required=False, max_length=200, help_text="What changed and why.")

    def __init__(self, *args: Any, start: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["configuration"].initial = start


def describe_stranded_pods(name: str, count: int) -> str:
    """A warning about pending pods that a configuration would not schedule."""
    pods = "1 pending pod waits" if count == 1 else f"{count:,} pending pods wait"
    return f"{pods} for scheduler {name}, which no profile of this revision has."
