"""The forms of the account page."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from apps.dashboard.forms.lines import SuggestedField
from apps.engine.periods import find_zone


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]
    """The new password twice. What is wrong with it stands at the first field."""

    def validate_password_for_user(self, user: Any, password_field_name: str = "") -> None:
        super().validate_password_for_user(user, "new_password1")


class PasswordForm(NewPasswordForm, PasswordChangeForm):
    """The old password, which is limited like a sign-in, and the new one twice."""

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._request = request

    def clean_old_password(self) -> str:
        old: str = self.cleaned_data["old_password"]
        if authenticate(self._request, username=self.user.get_username(), password=old) is None:
            wrong = self.error_messages["password_incorrect"]
            raise ValidationError(wrong, code="password_incorrect")
        return old


class PreferencesForm(forms.Form):
    """The theme, the time zone, the form of times and the shortcuts of this browser."""

    theme = forms.ChoiceField(
        choices=[("auto", "like the system"), ("light", "light"), ("dark", "dark")],
    )
    zone = SuggestedField(
        label="Time zone",
        required=False,
        help_text="An IANA name such as Europe/Berlin, for times on pages and in filters. "
        "Empty: the zone of the browser.",
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
    )
    times = forms.ChoiceField(
        label="Times",
        choices=[("short", "short"), ("full", "full")],
        required=False,
        help_text="Full: date, time and zone are written out, not only shown under the pointer.",
    )
    keys = forms.ChoiceField(
        label="Keyboard shortcuts",
        choices=[("on", "on"), ("off", "off")],
        required=False,
        help_text="Off: keys such as /, ? and j do nothing, for speech input and keys pressed by "
        "mistake.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        zone = self.fields["zone"]
        assert isinstance(zone, SuggestedField)
        zone.suggest(sorted(available_timezones()), list_id="zones")

    def clean_zone(self) -> str:
        """The name of the zone in its usual spelling."""
        entered = str(self.cleaned_data["zone"]).strip()
        by_name = {name.lower(): name for name in available_timezones()}
        zone = find_zone(by_name.get(entered.lower(), ""))
        if entered and zone is None:
            raise ValidationError(
                f"{entered!r} is not the name of a time zone, such as Europe/Berlin or UTC"
            )
        return zone.key if zone else ""
