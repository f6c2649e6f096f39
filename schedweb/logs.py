"""Log lines with the request id, as text or as JSON.

A record may have `fields` (``extra={"fields": {...}}``): structured values by name.
"""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any, Final

from apps.cluster.context import current_request_id

#: Characters of a message, and of a field's value or a traceback; a longer text loses its middle. A
#: client can send an address, a header or a value of any length that messages then quote.
LARGEST_MESSAGE: Final = 4000
LARGEST_DETAIL: Final = 16_000

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
        # a line break would let a client write lines of its own
        record.message = bounded(record.message, LARGEST_MESSAGE).translate(_BREAKS)
        line = super().formatMessage(record)
        for name, value in _fields(record).items():
            shown = value if isinstance(value, (int, float)) else json.dumps(value)
            line += f" {name}={shown}"
        return line

    def formatException(self, ei: Any) -> str:
        return bounded(super().formatException(ei), LARGEST_DETAIL)


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time, level, logger, message, request, fields and traceback."""

    def format(self, record: logging.LogRecord) -> str:
        values: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": bounded(record.getMessage(), LARGEST_MESSAGE),
            "request_id": getattr(record, "request_id", "-"),
            **_fields(record),
        }
        if record.exc_info:
            text = self.formatException(record.exc_info)
            values["traceback"] = bounded(text, LARGEST_DETAIL)
        return json.dumps(values, default=str, ensure_ascii=False)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """Its fields; what is no number as a text of bounded length."""
    fields: dict[str, Any] = getattr(record, "fields", {})
    return {
        name: value if isinstance(value, (int, float)) else bounded(str(value), LARGEST_DETAIL)
        for name, value in fields.items()
    }


#: Line breaks, escapes of terminals and other control characters -> how they are written.
_BREAKS: Final = {
    code: repr(chr(code))[1:-1] for code in (*range(9), *range(10, 32), *range(127, 160), 0x2028)
}


def bounded(text: str, most: int) -> str:
    """The text; of one that is longer than `most`, its beginning and its end."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} … {len(text) - 2 * half} characters … {text[-half:]}"
