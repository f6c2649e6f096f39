"""Writes what a user has changed in the form into the YAML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from django.http import QueryDict

from apps.cluster.errors import BadRequest
from apps.dashboard.profile_form.fields import GroupList
from apps.dashboard.profile_form.sheet import PluginRow, ProfileSheet, Sheet, Switch, build_sheet
from apps.engine.profiles.editing.document import ConfigurationText
from apps.engine.profiles.editing.plugin_sets import move, switch, weigh
from apps.scheduler.config.plugin_table import PluginTable


def apply_changes(text: str, posted: QueryDict, known: PluginTable) -> str:
    """The text with the changes that a user has made in the form and with its buttons.

    `shown` in `posted` is the text that the form was rendered from. A field counts as changed if
    it differs from that text, so what the user has typed in the YAML since then remains. Without
    `form`, which is in the fieldset, the fields were disabled, and absent ones mean nothing.

    Raises ConfigError if a text is not a YAML mapping, BadRequest for an unknown button.
    """
    if "shown" not in posted or "form" not in posted:
        return text
    sheet, document = build_sheet(str(posted["shown"]), known), ConfigurationText(text)
    for entry in sheet.entries():
        wanted = entry.read(posted)
        if wanted != entry.shown:
            entry.write(document, wanted)
    for profile in sheet.profiles:
        _apply_plugins(document, profile, posted, known)
    if "do" in posted:
        _do(document, sheet, str(posted["do"]), known)
    return document.text()


def _apply_plugins(
    document: ConfigurationText, profile: ProfileSheet, posted: QueryDict, known: PluginTable
) -> None:
    for row in profile.plugins:
        for each in _switches(row):
            on = each.name in posted
            if on != each.on:
                switch(document, each.profile, known, each.point, each.plugin, on=on)
        if row.weight is not None:
            wanted = row.weight.read(posted)
            if wanted != row.weight.shown:
                weight = row.weight.parse(wanted) if wanted else None
                weigh(document, profile.index, known, row.name, weight)


def _switches(row: PluginRow) -> list[Switch]:
    """The switches of a row; the one for all points first, if a user has changed it."""
    return [row.everywhere, *(each for each in row.points if each is not None)]


def _do(document: ConfigurationText, sheet: Sheet, button: str, known: PluginTable) -> None:
    verb, _, argument = button.partition(":")
    action = _ACTIONS.get(verb)
    if action is None:
        raise BadRequest(f"do: unknown action {verb!r}")
    try:
        action(document, sheet, argument, known)
    except (ValueError, IndexError, KeyError) as error:
        raise BadRequest(f"do: {button!r} is not possible in this configuration") from error


def _add(document: ConfigurationText, sheet: Sheet, path: str, known: PluginTable) -> None:
    for part in sheet.parts():
        if isinstance(part, GroupList) and part.path == path:
            part.add(document)


def _remove(document: ConfigurationText, sheet: Sheet, path: str, known: PluginTable) -> None:
    document.remove(path)


def _move(document: ConfigurationText, sheet: Sheet, argument: str, known: PluginTable) -> None:
    profile, point, plugin, by = argument.split(":")
    index = sheet.profiles[int(profile)].index
    move(document, index, known, point, plugin, by=-1 if by == "up" else 1)


def _copy_profile(
    document: ConfigurationText, sheet: Sheet, argument: str, known: PluginTable
) -> None:
    """Append a copy of a profile, under a name that is free."""
    index = sheet.profiles[int(argument)].index
    names = {profile.title for profile in sheet.profiles}
    if document.get("profiles[0]") is None:
        document.set("profiles[0].schedulerName", "default-scheduler")
    number = 2
    while f"{sheet.profiles[index].title}-{number}" in names:
        number += 1
    if document.get(f"profiles[{index}].schedulerName") is None:
        document.set(f"profiles[{index}].schedulerName", sheet.profiles[index].title)
    document.append_copy("profiles", index)
    last = len(document.get("profiles")) - 1
    document.set(f"profiles[{last}].schedulerName", f"{sheet.profiles[index].title}-{number}")


_ACTIONS: Final[Mapping[str, Callable[[ConfigurationText, Sheet, str, PluginTable], None]]] = {
    "add": _add,
    "remove": _remove,
    "move": _move,
    "copy-profile": _copy_profile,
}
