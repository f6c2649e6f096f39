"""The form for the settings of a cluster that is there."""

from __future__ import annotations

from typing import Any

import yaml
from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from apps.cluster.admission.plugins.registry import PLUGINS
from apps.dashboard.forms.refusals import ObjectForm

UNSCHEDULABLE_LABEL = "Maximum time unschedulable, in seconds"
UNSCHEDULABLE_HELP = (
    "An unschedulable pod is retried after this time even if no event could help it."
)
MOST_SECONDS = 2**31 - 1


def _parameters_of(plugin: str) -> str:
    return f"{plugin}_parameters"


class ParametersField(forms.CharField):
    """A YAML mapping; empty for none."""

    def __init__(self, *, example: str, **kwargs: Any) -> None:
        rows = max(example.count("\n"), 3)
        attributes = {"rows": rows, "placeholder": example, "spellcheck": "false"}
        super().__init__(required=False, widget=forms.Textarea(attributes), **kwargs)

    def clean(self, value: Any) -> Any:
        try:
            parameters = yaml.safe_load(super().clean(value) or "{}")
        except yaml.YAMLError as error:
            raise ValidationError(f"This is not YAML: {error}") from error
        if not isinstance(parameters, dict):
            raise ValidationError("Enter names with values.")
        return parameters


class KeptField(forms.IntegerField):
    """A limit of what is kept; empty: what the site says."""

    def __init__(self, *, setting: str, **kwargs: Any) -> None:
        site = f"site default: {settings.RETENTION[setting]}"
        super().__init__(
            required=False,
            min_value=0,
            max_value=MOST_SECONDS,
            widget=forms.NumberInput({"placeholder": site}),
            **kwargs,
        )


def _covers_choices() -> list[tuple[str, str]]:
    site = "yes" if settings.RETENTION["changelog_covers_ledger"] else "no"
    return [("", f"site default: {site}"), ("True", "yes"), ("False", "no")]


class ClusterSettingsForm(ObjectForm):
    """`SETTINGS` of a cluster: what can be changed while it runs."""

    pod_max_in_unschedulable_pods_seconds = forms.IntegerField(
        label=UNSCHEDULABLE_LABEL,
        min_value=1,
        max_value=MOST_SECONDS,
        help_text=UNSCHEDULABLE_HELP,
    )
    controllers = forms.BooleanField(
        required=False,
        label="Run controllers",
        help_text="Node lifecycle, evictions, workloads, volumes, garbage collection.",
    )
    kubelet = forms.BooleanField(
        required=False,
        label="Run mock kubelets",
        help_text="A mock kubelet starts and terminates the pods bound to its node.",
    )
    event_ttl_seconds = forms.IntegerField(
        label="Event retention, in seconds",
        min_value=0,
        max_value=MOST_SECONDS,
        help_text="Events are deleted this long after they were last seen. 0: no limit.",
    )
    ledger_max_days = KeptField(
        setting="ledger_max_days",
        label="Decision retention, in days",
        help_text="0: no limit. Empty: site default.",
    )
    ledger_max_decisions = KeptField(
        setting="ledger_max_decisions",
        label="Maximum number of decisions",
        help_text="The newest are kept. 0: no limit.",
    )
    changelog_max_days = KeptField(
        setting="changelog_max_days",
        label="Change log retention, in days",
        help_text="0: no limit.",
    )
    changelog_covers_ledger = forms.TypedChoiceField(
        required=False,
        choices=_covers_choices,
        coerce=lambda chosen: chosen == "True",
        empty_value=None,
        label="Keep changes that stored decisions need",
        help_text="Without these changes, old decisions can be shown but not explained.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        chosen = (kwargs.get("initial") or {}).get("admission_plugins") or {}
        for plugin in PLUGINS:
            self.fields[plugin.name] = forms.BooleanField(
                required=False,
                label=plugin.name,
                help_text=plugin.about,
                initial=plugin.name in chosen,
            )
            if plugin.example:
                given = chosen.get(plugin.name)
                self.fields[_parameters_of(plugin.name)] = ParametersField(
                    label=f"Parameters of {plugin.name}",
                    initial=yaml.safe_dump(dict(given), sort_keys=False) if given else "",
                    help_text="YAML. Omitted parameters use their defaults.",
                    example=yaml.safe_dump(dict(plugin.example), sort_keys=False),
                )

    paths = {
        f"admission_plugins.{plugin.name}": (
            _parameters_of(plugin.name) if plugin.example else plugin.name
        )
        for plugin in PLUGINS
    }

    def general(self) -> list[forms.BoundField]:
        """The fields that are neither about history nor about admission plugins."""
        others = {each.name for pair in self.plugins() for each in pair} | settings.RETENTION.keys()
        return [field for field in self if field.name not in others]

    def history(self) -> list[forms.BoundField]:
        """How long decisions and changes are kept."""
        return [self[name] for name in settings.RETENTION]

    def plugins(self) -> list[list[forms.BoundField]]:
        """For each plugin its switch, and its parameters if it has any."""
        names = [(plugin.name, _parameters_of(plugin.name)) for plugin in PLUGINS]
        return [[self[name] for name in pair if name in self.fields] for pair in names]

    def clean(self) -> dict[str, Any]:
        """The settings by name; parameters of plugins that are off are forgotten."""
        given = dict(self.cleaned_data)
        chosen = {}
        for plugin in PLUGINS:
            parameters = given.pop(_parameters_of(plugin.name), {})
            if given.pop(plugin.name, False):
                chosen[plugin.name] = parameters
        return {**given, "admission_plugins": chosen}
