"""The form of a saved view of decisions."""

from __future__ import annotations

from django import forms

from apps.dashboard.forms.object_form import ObjectForm
from apps.engine.ledger.saved_views import MAX_NAME


class SavedViewForm(ObjectForm):
    """The name of a view, and whether others see it."""

    name = forms.CharField(
        max_length=MAX_NAME,
        help_text="Unique among your views of this cluster, for example: rejected by a taint",
    )
    shared = forms.BooleanField(
        required=False,
        label="Share with the other users of this cluster",
        help_text="They see and open the view; only you can change it.",
    )
