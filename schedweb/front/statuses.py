"""The body of a Kubernetes Status, for responses of the front itself."""

from __future__ import annotations

from typing import Any

import msgspec


def status_body(code: int, reason: str, message: str) -> tuple[bytes, str]:
    """A Kubernetes Status, and its content type."""
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return msgspec.json.encode(status), "application/json"
