"""Records what was done, in the audit log."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from django.db import DatabaseError, transaction

from apps.cluster.context import current_request_id
from apps.people.audit.caller import Caller, current_caller
from apps.people.models import AuditEntry

log = logging.getLogger(__name__)


def record(
    action: AuditEntry.Action,
    *,
    user: str | None = None,
    target: str = "",
    cluster: str = "",
    details: Mapping[str, Any] | None = None,
) -> None:
    """Record that the present caller, or `user`, did something.

    `target` is what it was done to, `details` is JSON; neither may contain a secret. Inside a
    transaction the entry is committed, or rolled back, with it.
    """
    _write(current_caller(), action, user, target, cluster, details)


def try_to_record(
    action: AuditEntry.Action,
    *,
    caller: Caller | None = None,
    target: str = "",
    cluster: str = "",
    details: Mapping[str, Any] | None = None,
) -> None:
    """Record something that only reads: it also works while the database accepts no writes.

    An entry that could not be written is logged.
    """
    try:
        with transaction.atomic():
            _write(caller or current_caller(), action, None, target, cluster, details)
    except DatabaseError:
        log.exception("could not record %s of %s in the audit log", action, target)


def _write(
    caller: Caller,
    action: AuditEntry.Action,
    user: str | None,
    target: str,
    cluster: str,
    details: Mapping[str, Any] | None,
) -> None:
    AuditEntry.objects.create(
        action=action,
        user=_text("user", caller.name if user is None else user),
        token=_text("token", caller.token),
        address=_text("address", caller.address),
        request_id=current_request_id(),
        cluster=_text("cluster", cluster),
        target=_text("target", target),
        details=dict(details or {}),
    )


def _text(field: str, value: str) -> str:
    """The value as the column can hold it."""
    length: int = getattr(AuditEntry._meta.get_field(field), "max_length")  # noqa: B009
    return value.replace("\x00", "\ufffd")[:length]
