"""Limits of failed sign-ins, which `axes` counts: of one account, and from one address."""

from __future__ import annotations

from axes.models import AccessAttempt
from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone


def client_address(request: HttpRequest) -> str:
    """The address from which a request was sent."""
    return str(request.META.get("REMOTE_ADDR", ""))


def unblock(name: str) -> int:
    """Forget the failed sign-ins of an account; returns the number of records."""
    deleted, _ = AccessAttempt.objects.filter(username=name).delete()
    return int(deleted)


def delete_expired() -> None:
    """Delete failed sign-ins that no longer count."""
    oldest = timezone.now() - settings.AXES_COOLOFF_TIME
    AccessAttempt.objects.filter(attempt_time__lt=oldest).delete()
