"""The form that starts a scenario."""

from __future__ import annotations

from django import forms

from apps.dashboard.forms.files import YamlField


class ScenarioForm(forms.Form):
    """The text of a scenario."""

    scenario = YamlField(rows=18, label="Scenario", help_text="YAML; a file replaces the text.")
