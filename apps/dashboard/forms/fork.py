"""The form that forks a cluster."""

from __future__ import annotations

from typing import Any

from django import forms

from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster
from apps.studies.past.past_version import PastVersion, parse_past_version

_MOMENTS = ("version", "at", "decision")


class ForkForm(forms.Form):
    """The name of the fork, and the moment: at most one of version, time and decision."""

    name = forms.CharField(max_length=63, help_text="Lower-case letters, digits and “-”.")
    version = forms.CharField(
        required=False, help_text="A version of the cluster. Empty: the present one."
    )
    at = forms.CharField(
        required=False, label="Time", help_text="Or a time: 15m (ago), 09:00, 2026-11-22 09:00."
    )
    decision = forms.CharField(
        required=False, help_text="Or the number of a decision, to fork before it."
    )

    def __init__(self, *args: Any, source: Cluster, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._source = source
        self.moment: PastVersion | None = None
        for name, field in self.fields.items():
            field.widget.attrs |= {"autocomplete": "off", "spellcheck": "false"}
            if name != "name":
                field.widget.attrs["class"] = "short"

    def clean(self) -> dict[str, Any]:
        typed = dict(self.cleaned_data)
        chosen = {name: typed[name] for name in _MOMENTS if typed.get(name)}
        try:
            self.moment = parse_past_version(self._source, chosen)
        except ApiError as refusal:
            named = refusal.message.partition(":")[0]
            self.add_error(
                named if named in _MOMENTS else next(iter(chosen), "version"), refusal.message
            )
        return typed
