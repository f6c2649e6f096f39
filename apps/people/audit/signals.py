"""Records sign-ins and sign-outs, which Django announces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from axes.signals import user_locked_out
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest

from apps.people.audit.recording import record
from apps.people.audit.refused_requests import recent
from apps.people.models import AuditEntry
from apps.people.sessions import describe_sign_in

_UNKNOWN: Final = "a name that no user has"


@receiver(user_logged_in)
def record_sign_in(user: User, request: HttpRequest | None = None, **_: Any) -> None:
    if request is not None:
        describe_sign_in(request)
    name = user.get_username()
    record(AuditEntry.Action.SIGNED_IN, user=name, details={"by": _way(user)})


@receiver(user_logged_out)
def record_sign_out(user: User | None, **_: Any) -> None:
    if user is not None:
        record(AuditEntry.Action.SIGNED_OUT, user=user.get_username())


@receiver(user_login_failed)
def record_failure(
    credentials: Mapping[str, Any], request: HttpRequest | None = None, **_: Any
) -> None:
    if getattr(request, "axes_locked_out", False):
        # recorded when it began
        return
    known = _known_name(credentials.get("username"))
    signed_in = getattr(getattr(request, "user", None), "is_authenticated", False)
    details = {"form": "change of the password"} if signed_in else None
    target = "" if known else _UNKNOWN
    record(AuditEntry.Action.SIGN_IN_FAILED, user=known, target=target, details=details)


@receiver(user_locked_out)
def record_block(username: str | None, ip_address: str | None, **_: Any) -> None:
    """Record, once a minute, that attempts for this account or from this address are refused.

    All names that no user has count as one: a stranger can think of any number of them.
    """
    known = _known_name(username)
    if not recent.is_repeated((known, str(ip_address), "", "")):
        record(AuditEntry.Action.SIGN_IN_BLOCKED, user=known, target="" if known else _UNKNOWN)


def _known_name(name: object) -> str:
    """The name if a user has it; what was entered as a name may be a password."""
    text = str(name or "")
    known = "\x00" not in text and User.objects.filter(username=text).exists()
    return text if known else ""


def _way(user: User) -> str:
    """How the user proved their identity, in words."""
    backend = getattr(user, "backend", "")
    return "OpenID Connect" if backend.endswith("OpenIdBackend") else "password"
