"""The forms of new tokens and kubeconfigs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from apps.dashboard.forms.object_form import ObjectForm

_EXPIRY = [("7", "in 7 days"), ("30", "in 30 days"), ("90", "in 90 days"), ("365", "in a year")]


class ExpiringForm(ObjectForm):
    """What tokens have in common."""

    expires = forms.TypedChoiceField(
        label="Expires",
        choices=[*_EXPIRY, ("", "never")],
        coerce=int,
        empty_value=None,
        required=False,
        initial="90",
    )
    read_only = forms.BooleanField(
        label="Read-only",
        required=False,
        help_text="Requests that change something are rejected.",
    )


class TokenForm(ExpiringForm):
    """A token of the user."""

    field_order = ("name", "clusters", "expires", "read_only")

    name = forms.CharField(
        max_length=100,
        help_text="Where it is used, for example CI.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    clusters = forms.MultipleChoiceField(
        required=False,
        help_text="The clusters that it reaches. None selected: all, and the whole site.",
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, data: Any, names: Sequence[str]) -> None:
        super().__init__(data)
        field = self.fields["clusters"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [(name, name) for name in names]
        if not names:
            del self.fields["clusters"]


class KubeconfigForm(ExpiringForm):
    """A kubeconfig, with a new token in it."""

    field_order = ("name", "root", "expires", "read_only", "only_cluster")

    name = forms.CharField(
        label="Name of the token",
        max_length=100,
        required=False,
        help_text="Empty: named after the cluster.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    root = forms.ChoiceField(
        label="Server",
        choices=[
            ("", "URL with a path: kubectl, client-go"),
            ("sni", "TLS server name: Helm, kubectl proxy"),
            ("host", "host name, which must resolve"),
        ],
        required=False,
    )
    only_cluster = forms.BooleanField(
        label="This cluster only",
        required=False,
        initial=True,
        help_text="The token reaches no other cluster and not the API of the control plane "
        "of the site.",
    )
