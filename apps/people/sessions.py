"""Sessions of browsers: stored with their user, listed, ended. The session engine of Django."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db import DatabaseError, transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from apps.cluster.errors import NotFound
from apps.people.audit.recording import record
from apps.people.models import AuditEntry, UserSession

#: Interval at which the use of a session is recorded.
_USE: Final = timedelta(minutes=1)

#: What a session knows about its sign-in.
_ADDRESS, _AGENT, _SIGNED_IN_AT = "_address", "_agent", "_signed_in_at"


class SessionStore(DatabaseStore):
    """Sessions in the database, each with its user and where it began."""

    @classmethod
    def get_model_class(cls) -> type[UserSession]:
        return UserSession

    def create_model_instance(self, data: dict[str, Any]) -> UserSession:
        session = super().create_model_instance(data)
        assert isinstance(session, UserSession)
        user = data.get(SESSION_KEY)
        session.user_id = int(user) if user else None
        session.address = str(data.get(_ADDRESS, ""))
        session.agent = str(data.get(_AGENT, ""))
        session.signed_in_at = _read_time(data.get(_SIGNED_IN_AT)) or timezone.now()
        session.last_used_at = timezone.now()
        return session

    def _get_session_from_db(self) -> UserSession | None:
        session: UserSession | None = super()._get_session_from_db()  # type: ignore[misc]
        if session is not None and timezone.now() - session.last_used_at > _USE:
            _record_use(session)
        return session


def describe_sign_in(request: HttpRequest) -> None:
    """Keep in a new session where it began."""
    request.session[_ADDRESS] = request.META.get("REMOTE_ADDR", "")
    request.session[_AGENT] = request.META.get("HTTP_USER_AGENT", "")[:200]
    request.session[_SIGNED_IN_AT] = timezone.now().isoformat()


def list_sessions(user: User) -> list[UserSession]:
    """The sessions of a user that have not expired, last used first."""
    valid = UserSession.objects.filter(user=user, expire_date__gt=timezone.now())
    return list(valid.order_by("-last_used_at"))


def end_session(user: User, session_id: str) -> None:
    """Sign out one session. Raises NotFound."""
    for session in list_sessions(user):
        if session.public_id == session_id:
            _end(user, [session])
            return
    raise NotFound("sessions", session_id)


def end_sessions(user: User, *, but: str | None = None) -> int:
    """Sign out a user everywhere, except in the session with the key `but`; returns how many."""
    ended = [each for each in list_sessions(user) if but is None or each.session_key != but]
    _end(user, ended)
    return len(ended)


def delete_expired() -> None:
    """Delete sessions that have expired."""
    UserSession.objects.filter(expire_date__lt=timezone.now()).delete()


def _end(user: User, sessions: list[UserSession]) -> None:
    with transaction.atomic():
        for session in sessions:
            session.delete()
            about = {"address": session.address, "agent": session.agent}
            record(AuditEntry.Action.SESSION_ENDED, target=user.get_username(), details=about)


def _record_use(session: UserSession) -> None:
    # a database that accepts no writes, because its disk is full, can still be read
    try:
        with transaction.atomic():
            UserSession.objects.filter(
                pk=session.pk, last_used_at__lt=timezone.now() - _USE
            ).update(last_used_at=timezone.now())
    except DatabaseError:
        return


def _read_time(text: Any) -> datetime | None:
    return parse_datetime(text) if isinstance(text, str) else None
