"""The errors that the store raises, each of them a Kubernetes Status.

Each edge turns an `ApiError` into a response in one place; nothing else maps errors to HTTP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Cause:
    """One problem of one field."""

    reason: str
    message: str
    field: str


class ApiError(Exception):
    """A rejected request, with everything that a Kubernetes `Status` reports."""

    code: int = 500
    reason: str = "InternalError"

    def __init__(self, message: str, *, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details or {}
        self._shows_details = details is not None
        #: Warnings sent with the error, as response headers.
        self.warnings: list[str] = []

    def status(self) -> dict[str, Any]:
        """The `Status` object (v1) of this error."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            **({"reason": self.reason} if self.reason else {}),
            "code": self.code,
        }
        if self.details or self._shows_details:
            body["details"] = self.details
        return body


class InternalError(ApiError):
    """`Internal error occurred: <why>`."""

    def __init__(self, why: str) -> None:
        details = {"causes": [{"message": why}]}
        super().__init__(f"Internal error occurred: {why}", details=details)


class ConversionFailed(ApiError):
    """An object cannot be converted to another version."""

    reason = ""


class BadRequest(ApiError):
    code, reason = 400, "BadRequest"


class Unauthorized(ApiError):
    code, reason = 401, "Unauthorized"


class Forbidden(ApiError):
    code, reason = 403, "Forbidden"


class MethodNotAllowed(ApiError):
    code, reason = 405, "MethodNotAllowed"


class NotAcceptable(ApiError):
    code, reason = 406, "NotAcceptable"


class Expired(ApiError):
    """The requested resourceVersion is older than the retained history."""

    code, reason = 410, "Expired"


class RequestEntityTooLarge(ApiError):
    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(ApiError):
    code, reason = 415, "UnsupportedMediaType"


class TooManyRequests(ApiError):
    code, reason = 429, "TooManyRequests"


class Timeout(ApiError):
    code, reason = 504, "Timeout"


class NotFound(ApiError):
    """`pods "p1" not found`."""

    code, reason = 404, "NotFound"

    def __init__(self, plural: str, name: str, group: str = "") -> None:
        super().__init__(
            f'{qualified(plural, group)} "{name}" not found',
            details=_details(plural, name, group),
        )


class AlreadyExists(ApiError):
    """`pods "p1" already exists`; of an object with ``generateName``, it may be sent again."""

    code, reason = 409, "AlreadyExists"

    def __init__(
        self,
        plural: str,
        name: str,
        group: str = "",
        *,
        is_generated: bool = False,
        is_being_deleted: bool = False,
    ) -> None:
        message, details = f'{qualified(plural, group)} "{name}" already exists', {}
        if is_being_deleted:
            message = f"object is being deleted: {message}"
        if is_generated:
            message += ", the server was not able to generate a unique name for the object"
            details["retryAfterSeconds"] = 1
        super().__init__(message, details={**_details(plural, name, group), **details})


class Conflict(ApiError):
    """`Operation cannot be fulfilled on pods "p1": <why>`."""

    code, reason = 409, "Conflict"

    def __init__(self, plural: str, name: str, why: str, group: str = "") -> None:
        super().__init__(
            f'Operation cannot be fulfilled on {qualified(plural, group)} "{name}": {why}',
            details=_details(plural, name, group),
        )


class Invalid(ApiError):
    """An object that decodes but is invalid; every cause names its field.

    `causes` has each cause once, for people. `details` repeats a cause that several checks report,
    as the API server does.
    """

    code, reason = 422, "Invalid"

    def __init__(self, kind: str, name: str, causes: Sequence[Cause], group: str = "") -> None:
        self.causes = tuple(dict.fromkeys(causes))
        texts = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in self.causes))
        listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        super().__init__(
            f'{qualified(kind, group)} "{name}" is invalid: {listed}',
            details={
                **({"name": name} if name else {}),
                **({"group": group} if group else {}),
                "kind": kind,
                "causes": [
                    {"reason": c.reason, "message": c.message, "field": c.field} for c in causes
                ],
            },
        )


def qualified(plural: str, group: str) -> str:
    """The resource with its group, as messages name it: `replicasets.apps`."""
    return f"{plural}.{group}" if group else plural


def _details(plural: str, name: str, group: str) -> dict[str, Any]:
    about = {"name": name, "kind": plural}
    return {**about, "group": group} if group else about
