"""The forms of the members of a cluster."""

from __future__ import annotations

from typing import Any

from django import forms

from apps.cluster.roles import MEMBER_ROLES, Visibility
from apps.dashboard.forms.object_form import ObjectForm

#: Roles that a member can have.
ROLES = [(role.label, role.label) for role in MEMBER_ROLES]


class MemberForm(ObjectForm):
    """A user or a group, and its role."""

    user = forms.CharField(required=False, help_text="Name of a user.")
    group = forms.CharField(required=False, help_text="Or the name of a group of users.")
    role = forms.ChoiceField(choices=ROLES)

    def clean(self) -> dict[str, Any]:
        typed: dict[str, Any] = super().clean() or {}
        if bool(typed.get("user")) == bool(typed.get("group")):
            self.add_error("user", "Enter the name of either a user or a group.")
        return typed


class VisibilityForm(ObjectForm):
    """Who sees the cluster."""

    visibility = forms.ChoiceField(choices=Visibility.choices, label="Visible to")
