"""The form for a new webhook."""

from __future__ import annotations

from django import forms

from apps.controlplane.webhooks.events import KINDS
from apps.dashboard.forms.refusals import ObjectForm


class WebhookForm(ObjectForm):
    """An address, and the kinds of events that it is told of."""

    url = forms.CharField(
        label="URL",
        max_length=2000,
        help_text="An https or http address that accepts POST.",
        widget=forms.URLInput({"placeholder": "https://example.com/hook", "autocomplete": "off"}),
    )
    kinds = forms.MultipleChoiceField(
        label="Events",
        choices=[(kind, f"{kind} – {about}") for kind, about in KINDS.items()],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one kind of event."},
    )
    secret = forms.CharField(
        required=False,
        max_length=100,
        help_text="Signs each request. Empty: one is created.",
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
    )
