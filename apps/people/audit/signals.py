"""Records sign-ins and sign-outs, which Django announces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest

from apps.people.audit.recording import record
from apps.people.models import AuditEntry
from apps.people.sessions import describe_sign_in


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
def record_failure(credentials: Mapping[str, Any], **_: Any) -> None:
    # what was entered as a name may be a password
    name = str(credentials.get("username") or "")
    known = User.objects.filter(username=name).exists() if "\x00" not in name else False
    target = "" if known else "a name that no user has"
    record(AuditEntry.Action.SIGN_IN_FAILED, user=name if known else "", target=target)


def _way(user: User) -> str:
    """How the user proved their identity, in words."""
    backend = getattr(user, "backend", "")
    return "OpenID Connect" if backend.endswith("OpenIdBackend") else "password"
