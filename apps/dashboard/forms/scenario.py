"""The forms that start a scenario, and a comparison of recorded decisions."""

from __future__ import annotations

from django import forms

from apps.dashboard.forms.files import RecordingField, RecordingsField, YamlField


class ScenarioForm(forms.Form):
    """The text of a scenario."""

    scenario = YamlField(rows=18, label="Scenario", help_text="YAML; a file replaces the text.")
    recordings = RecordingsField(
        required=False,
        help_text="The files that the scenario names as imports or traces: recordings, dumps of a "
        "cluster, and archives of them (gzip, tar, zip).",
    )


class RecordedDecisionsForm(forms.Form):
    """A file of kube-scheduler-simulator, and the configuration that it was recorded with."""

    recording = RecordingField(
        help_text="A record (JSON lines) or a snapshot (JSON) of kube-scheduler-simulator."
    )
    configuration = YamlField(
        rows=6,
        label="Configuration",
        required=False,
        help_text="The KubeSchedulerConfiguration of the recording. Empty: the one in the "
        "snapshot, or the default one.",
    )
