"""The form for a new revision of the scheduler's configuration."""

from __future__ import annotations

from typing import Any

from django import forms

from apps.controlplane.models import ConfigurationRevision
from apps.dashboard.forms.files import YamlField
from apps.dashboard.forms.refusals import ObjectForm


class ProfileForm(ObjectForm):
    """A KubeSchedulerConfiguration as YAML."""

    configuration = YamlField(rows=24, label="Configuration")
    legacy = forms.BooleanField(
        required=False,
        help_text="Converted from an older version: may use plugins of earlier releases.",
    )
    note = forms.CharField(required=False, max_length=200, help_text="What changed and why.")

    def __init__(self, *args: Any, active: ConfigurationRevision, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["configuration"].initial = active.configuration
