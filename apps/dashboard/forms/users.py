"""The form of an invitation."""

from __future__ import annotations

from django import forms

from apps.dashboard.forms.object_form import ObjectForm


class InvitationForm(ObjectForm):
    """A new user, who sets a password by a link."""

    name = forms.CharField(
        max_length=150,
        help_text="Letters, digits and @.+-_",
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
    )
    email = forms.EmailField(
        required=False,
        help_text="The link is sent there if the site has a mail server.",
        widget=forms.EmailInput({"autocomplete": "off"}),
    )
    site_admin = forms.BooleanField(
        label="Site admin",
        required=False,
        help_text="Administers all clusters, the users, and this site.",
    )
