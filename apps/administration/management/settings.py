"""The settings of a cluster as options of a command, and the values of such options."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.core.management.base import CommandParser

from apps.cluster.admission.plugins.registry import NAMES
from apps.cluster.errors import BadRequest
from apps.cluster.settings import Setting

_SWITCH = {"on": True, "off": False}


def option_name(setting: Setting) -> str:
    """The name of the option."""
    if setting.kind == "plugins":
        return "--admission"
    return f"--{setting.name.replace('_', '-')}"


def add_options(parser: CommandParser, settings: Sequence[Setting]) -> None:
    """Add an option for each setting; without the option its value is None, or an empty list."""
    for setting in settings:
        parser.add_argument(option_name(setting), dest=setting.name, **_build_argument(setting))


def read_values(options: Mapping[str, Any], settings: Sequence[Setting]) -> dict[str, Any]:
    """The values of the options that were given, by the settings' names."""
    return {
        each.name: _parse_value(each, options[each.name])
        for each in settings
        if options[each.name] not in (None, [])
    }


def _build_argument(setting: Setting) -> dict[str, Any]:
    match setting.kind:
        case "switch":
            return {"choices": list(_SWITCH), "help": _build_help(setting)}
        case "number":
            unit = setting.name.rpartition("_")[2].upper()
            return {"type": int, "metavar": unit, "help": _build_help(setting)}
        case "choice":
            return {
                "choices": [value for value, _ in setting.choices],
                "help": _build_help(setting),
            }
        case "plugins":
            return {
                "action": "append",
                "default": [],
                "metavar": "PLUGIN[=PARAMETERS]",
                "help": f"switch an admission plugin on; parameters are JSON ({', '.join(NAMES)})",
            }


def _build_help(setting: Setting) -> str:
    return f"{setting.label}. {setting.help} (default: {_format_default(setting)})"


def _format_default(setting: Setting) -> str:
    if setting.draw:
        return "random"
    if setting.follows_site:
        return "the default of the site"
    if setting.kind == "switch":
        return "on" if setting.default else "off"
    return str(setting.default)


def _parse_value(setting: Setting, text: Any) -> Any:
    match setting.kind:
        case "switch":
            return _SWITCH[text]
        case "plugins":
            return dict(map(_parse_plugin, text))
        case _:
            return text


def _parse_plugin(text: str) -> tuple[str, Any]:
    """`NAME` or `NAME={"parameter": …}`."""
    name, _, parameters = text.partition("=")
    try:
        return name, json.loads(parameters or "{}")
    except ValueError as error:
        raise BadRequest(f"--admission {name}: the parameters are not JSON: {error}") from error
