"""The forms of groups of users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from apps.dashboard.forms.object_form import ObjectForm


class GroupUsersForm(ObjectForm):
    """The users in a group, chosen from `names`."""

    users = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)

    def __init__(self, names: Sequence[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["users"].choices = [(name, name) for name in names]  # type: ignore[attr-defined]


class GroupForm(GroupUsersForm):
    """A new group, which can be a member of clusters."""

    name = forms.CharField(
        max_length=150, widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"})
    )
    field_order = ("name", "users")
