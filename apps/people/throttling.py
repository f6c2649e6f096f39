"""Limits of wrong passwords, which `axes` counts: they slow down who guesses, and not the owner.

A browser in which the user has signed in is a known device of this user, by a signed cookie that
ends with the password. It has a limit of its own, so nobody else can use it up. All others are
strangers: limited by name and address, by address, and by name. While strangers elsewhere guess the
password of a name, each address has one attempt left: enough for its owner in a new browser.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv6Address, IPv6Network, ip_address
from secrets import token_hex
from typing import Any, Final

from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q, Sum
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

#: Failures of strangers from one address with any names: a class or an office shares one.
_OF_ADDRESS: Final = 30
#: Failures of strangers with one name from all addresses.
_OF_NAME: Final = 100
#: Failures of strangers with one name from other addresses, beyond which an address has one left.
_ELSEWHERE: Final = 10

_COOKIE: Final = "schedweb-device-"
_YEAR_SECONDS: Final = 365 * 24 * 3600


class Limits(AxesDatabaseHandler):  # type: ignore[misc]
    """Counts failures in the database; records have the known device instead of the user agent."""

    def get_failures(self, request: Any, credentials: Mapping[str, Any] | None = None) -> int:
        """The failures that count, as if each limit was AXES_FAILURE_LIMIT."""
        name = (credentials or {}).get("username")
        request.axes_user_agent = device = _device_of(request, name)
        oldest = request.axes_attempt_time - settings.AXES_COOLOFF_TIME
        recent = AccessAttempt.objects.filter(attempt_time__gte=oldest, user_agent=device)
        here, named = Q(ip_address=request.axes_ip_address), Q(username=name)
        counts = recent.filter(here | named).aggregate(
            both=Sum("failures_since_start", filter=here & named, default=0),
            here=Sum("failures_since_start", filter=here, default=0),
            named=Sum("failures_since_start", filter=named, default=0),
        )
        if device:
            return int(counts["named"])
        most = settings.AXES_FAILURE_LIMIT
        guessed = counts["named"] - counts["both"] >= _ELSEWHERE
        limits = {"both": 1 if guessed else most, "here": _OF_ADDRESS, "named": _OF_NAME}
        return max(int(counts[each]) * most // limit for each, limit in limits.items())

    def user_login_failed(
        self,
        sender: Any,
        credentials: dict[str, Any],
        request: Any = None,
        **options: Any,
    ) -> None:
        request.axes_user_agent = _device_of(request, credentials.get("username"))
        super().user_login_failed(sender, credentials, request, **options)


def client_address(request: HttpRequest) -> str:
    """The address from which a request was sent; of IPv6 its network, which one client may have."""
    text = str(request.META.get("REMOTE_ADDR", ""))
    try:
        address = ip_address(text)
    except ValueError:
        return text
    if isinstance(address, IPv6Address):
        return str(IPv6Network((address, 64), strict=False).network_address)
    return text


def remember_device(response: HttpResponse, user: User) -> None:
    """Make the browser a known device of the user, who has just proved to be this user."""
    response.set_signed_cookie(
        f"{_COOKIE}{user.pk}",
        token_hex(16),
        salt=user.get_session_auth_hash(),
        max_age=_YEAR_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def unblock(name: str) -> int:
    """Forget the failed sign-ins of an account; returns the number of records."""
    deleted, _ = AccessAttempt.objects.filter(username=name).delete()
    return int(deleted)


def delete_expired() -> None:
    """Delete failed sign-ins that no longer count."""
    oldest = timezone.now() - settings.AXES_COOLOFF_TIME
    AccessAttempt.objects.filter(attempt_time__lt=oldest).delete()


def _device_of(request: HttpRequest, name: str | None) -> str:
    """The known device of the user with this name that sends the request; "" for a stranger."""
    if not any(cookie.startswith(_COOKIE) for cookie in request.COOKIES):
        return ""
    user = User.objects.filter(username=name).first()
    if user is None:
        return ""
    salt = user.get_session_auth_hash()
    cookie = f"{_COOKIE}{user.pk}"
    return request.get_signed_cookie(cookie, "", salt=salt, max_age=_YEAR_SECONDS) or ""
