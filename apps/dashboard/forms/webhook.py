"""The forms for a webhook."""

from __future__ import annotations

from django import forms

from apps.administration.webhooks.event_kinds import KINDS
from apps.administration.webhooks.service import find_faults
from apps.cluster.errors import Invalid
from apps.dashboard.forms.object_form import ObjectForm, show_error


class WebhookChangeForm(ObjectForm):
    """An address, and the kinds of events that are sent to it."""

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

    def clean(self) -> None:
        """Show the errors of all fields at once, also if one of them is missing."""
        values = self.values()
        causes = find_faults(values["url"], values["kinds"])
        show_error(self, Invalid("Webhook", "", causes))


class WebhookForm(WebhookChangeForm):
    """A new webhook."""

    secret = forms.CharField(
        required=False,
        max_length=100,
        help_text="Signs each request. Empty: one is created, and shown once.",
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
    )
