"""Log lines with the request id, as text or as JSON.

A record may have `fields` (``extra={"fields": {...}}``): structured values by name.
"""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

from apps.cluster.context import current_request_id

_PASSWORD_LINK = re.compile(r"(/set-password/)\S+")


class RequestIdFilter(logging.Filter):
    """Set the ``request_id`` of every record: its own, that of the current request, or "-"."""

    def filter(self, record: logging.LogRecord) -> bool:
        if not getattr(record, "request_id", ""):
            record.request_id = current_request_id() or "-"
        return True


class RoutineFilter(logging.Filter):
    """Drop Django's log line for each /readyz that is not ready."""

    def filter(self, record: logging.LogRecord) -> bool:
        return getattr(getattr(record, "request", None), "path", "") != "/readyz"


class PasswordLinkFilter(logging.Filter):
    """Leave out the secret of a link for a new password, which is part of its address."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if "/set-password/" in message:
            record.msg, record.args = _PASSWORD_LINK.sub(r"\1…", message), ()
        return True


class TextFormatter(logging.Formatter):
    """`time LEVEL logger [request] message name="value" …`"""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name} [{request_id}] {message}", style="{")

    def formatMessage(self, record: logging.LogRecord) -> str:
        line = super().formatMessage(record)
        for name, value in _fields(record).items():
            shown = value if isinstance(value, (int, float)) else json.dumps(str(value))
            line += f" {name}={shown}"
        return line


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time, level, logger, message, request, fields and traceback."""

    def format(self, record: logging.LogRecord) -> str:
        values: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": getattr(record, "request_id", "-"),
            **_fields(record),
        }
        if record.exc_info:
            values["traceback"] = self.formatException(record.exc_info)
        return json.dumps(values, default=str, ensure_ascii=False)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields: dict[str, Any] = getattr(record, "fields", {})
    return fields
