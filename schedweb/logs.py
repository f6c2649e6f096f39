"""Log lines that carry the request they belong to."""

from __future__ import annotations

import logging

from apps.cluster.context import current_request_id


class RequestId(logging.Filter):
    """Give every record a ``request_id``, "-" outside requests."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = current_request_id() or "-"
        return True


class NotRoutine(logging.Filter):
    """Drop what Django says of each /readyz that answers "not yet"."""

    def filter(self, record: logging.LogRecord) -> bool:
        return getattr(getattr(record, "request", None), "path", "") != "/readyz"
