"""Forms with the settings of a cluster: a field for each setting, with its name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import yaml
from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from apps.cluster.admission.plugins.plugin import AdmissionPlugin
from apps.cluster.admission.plugins.registry import PLUGINS
from apps.cluster.documents import UnreadableDocument, parse_yaml
from apps.cluster.settings import CHANGEABLE, Group, Setting
from apps.dashboard.forms.files import YamlField
from apps.dashboard.forms.object_form import ObjectForm


class ParametersField(YamlField):
    """A YAML mapping; empty for none."""

    def __init__(self, *, example: str, **kwargs: Any) -> None:
        rows = max(example.count("\n"), 3)
        super().__init__(required=False, rows=rows, css="", example=example, **kwargs)

    def clean(self, value: Any) -> Any:
        try:
            parameters = parse_yaml(super().clean(value) or "{}")
        except UnreadableDocument as error:
            raise ValidationError(f"This is not valid YAML: {error}") from error
        if not isinstance(parameters, dict):
            raise ValidationError("Expected a mapping of parameter names to values.")
        try:
            json.dumps(parameters, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValidationError(f"This cannot be written as JSON: {error}") from error
        return parameters


class SettingsForm(ObjectForm):
    """A form with a field for each of `declared`; `initial` has the values shown."""

    #: The settings that the form has.
    declared: ClassVar[Sequence[Setting]] = ()
    #: Whether a field that is left empty stands for the setting's default.
    empty_is_default: ClassVar[bool] = False

    paths = {
        f"admission_plugins.{plugin.name}": (
            f"{plugin.name}_parameters" if plugin.example else plugin.name
        )
        for plugin in PLUGINS
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for setting in self.declared:
            if setting.kind == "plugins":
                self.fields.update(_plugin_fields(self.initial.get(setting.name)))
            else:
                self.fields[setting.name] = _field(setting, required=not self.empty_is_default)
        self.order_fields(self.field_order)

    def general(self) -> list[forms.BoundField]:
        """The fields of all settings except history and admission plugins."""
        others = {*self._names("history"), *self._names("admission")}
        return [field for field in self if field.name not in others]

    def history(self) -> list[forms.BoundField]:
        """The fields of the retention of decisions and changes."""
        return [self[name] for name in self._names("history")]

    def plugins(self) -> list[list[forms.BoundField]]:
        """The fields of each admission plugin: a checkbox, and its parameters if it has any."""
        if not any(each.kind == "plugins" for each in self.declared):
            return []
        return [[self[name] for name in _names_of(plugin)] for plugin in PLUGINS]

    def has_folded_errors(self) -> bool:
        """Whether a field of history or of an admission plugin has an error."""
        folded = [*self.history(), *(field for plugin in self.plugins() for field in plugin)]
        return any(field.errors for field in folded)

    def values(self) -> dict[str, Any]:
        """The settings by name, after validation; without parameters of disabled plugins.

        A setting with a random default is omitted if its field is empty.
        """
        typed = self.cleaned_data
        values = {}
        for setting in self.declared:
            value = _enabled_plugins(typed) if setting.kind == "plugins" else typed[setting.name]
            if value in (None, "") and not setting.follows_site:
                value = setting.default
            if value is not None or setting.follows_site:
                values[setting.name] = value
        return values

    def _names(self, group: Group) -> Iterator[str]:
        for setting in self.declared:
            if setting.group == group and setting.kind == "plugins":
                for plugin in PLUGINS:
                    yield from _names_of(plugin)
            elif setting.group == group:
                yield setting.name


class ClusterSettingsForm(SettingsForm):
    """The settings that can be changed while the cluster runs."""

    declared = CHANGEABLE


def _field(setting: Setting, *, required: bool) -> forms.Field:
    given: dict[str, Any] = {"label": setting.label, "help_text": setting.help}
    given["initial"] = setting.default
    given["required"] = required and not setting.follows_site
    match setting.kind:
        case "switch" if setting.follows_site:
            choices = [("", _describe_site_default(setting)), ("True", "yes"), ("False", "no")]
            return forms.TypedChoiceField(
                choices=choices, coerce=lambda chosen: chosen == "True", empty_value=None, **given
            )
        case "switch":
            return forms.BooleanField(**{**given, "required": False})
        case "choice":
            return forms.ChoiceField(choices=setting.choices, **given)
        case _:
            return _number(setting, given)


def _number(setting: Setting, given: dict[str, Any]) -> forms.Field:
    lowest, highest = setting.limits
    hint = {"placeholder": _describe_site_default(setting)} if setting.follows_site else {}
    return forms.IntegerField(
        min_value=lowest, max_value=highest, widget=forms.NumberInput(hint), **given
    )


def _describe_site_default(setting: Setting) -> str:
    """The placeholder of an empty field: the default of the site."""
    value = settings.RETENTION[setting.name]
    return f"site default: {_yes_or_no(value) if setting.kind == 'switch' else value}"


def _yes_or_no(value: object) -> str:
    return "yes" if value else "no"


def _plugin_fields(shown: Any) -> dict[str, forms.Field]:
    """The fields of all plugins; `shown` may map the enabled ones to their parameters."""
    chosen = shown if isinstance(shown, Mapping) else {}
    fields: dict[str, forms.Field] = {}
    for plugin in PLUGINS:
        fields[plugin.name] = forms.BooleanField(
            required=False,
            label=plugin.name,
            help_text=plugin.about,
            initial=plugin.name in chosen,
        )
        if plugin.example:
            given = chosen.get(plugin.name)
            fields[f"{plugin.name}_parameters"] = ParametersField(
                label=f"Parameters of {plugin.name}",
                initial=yaml.safe_dump(dict(given), sort_keys=False) if given else "",
                help_text="YAML. Omitted parameters have their defaults.",
                example=yaml.safe_dump(dict(plugin.example), sort_keys=False),
            )
    return fields


def _names_of(plugin: AdmissionPlugin) -> list[str]:
    return [plugin.name, f"{plugin.name}_parameters"] if plugin.example else [plugin.name]


def _enabled_plugins(typed: dict[str, Any]) -> dict[str, Any]:
    """The enabled plugins: name -> parameters."""
    return {
        plugin.name: typed.get(f"{plugin.name}_parameters", {})
        for plugin in PLUGINS
        if typed.get(plugin.name)
    }
