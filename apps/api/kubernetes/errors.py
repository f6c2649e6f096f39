"""Errors of the API as a whole, raised before an object is read."""

from __future__ import annotations

from typing import Any

from apps.cluster.errors import ApiError, NotAcceptable, UnsupportedMediaType

JSON_TYPES = "application/json, application/yaml"
#: The media types in which objects are read and written.
MEDIA_TYPES = f"{JSON_TYPES}, application/vnd.kubernetes.protobuf"
#: Those of watches.
STREAM_TYPES = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"


class ErrorWithoutDetails(ApiError):
    """An error whose Status has empty `details`."""

    def status(self) -> dict[str, Any]:
        status = super().status()
        return {**status, "details": {}, "code": status["code"]}


class UnknownPath(ErrorWithoutDetails):
    code, reason = 404, "NotFound"

    def __init__(self) -> None:
        super().__init__("the server could not find the requested resource")


class NoPage(ApiError):
    """A path that belongs to no group of the API: the answer is text."""

    code, reason = 404, "NotFound"

    def __init__(self) -> None:
        super().__init__("404 page not found")


class NoRoute(ErrorWithoutDetails):
    """No route of a declared kind takes the Content-Type of the body."""

    code, reason = 415, "UnsupportedMediaType"

    def __init__(self) -> None:
        super().__init__("415: Unsupported Media Type")


class WrongMethod(ErrorWithoutDetails):
    code, reason = 405, "MethodNotAllowed"

    def __init__(self) -> None:
        super().__init__("the server does not allow this method on the requested resource")


class UnprocessablePatch(ErrorWithoutDetails):
    """A JSON patch that does not apply. The API server gives no reason, also not in details."""

    code, reason = 422, "Invalid"

    def __init__(self) -> None:
        super().__init__("the server rejected our request due to an error in our request")


class NoRepresentation(ErrorWithoutDetails):
    """None of the media types in the Accept header is supported."""

    code, reason = 406, "NotAcceptable"

    def __init__(self, available: str = MEDIA_TYPES) -> None:
        super().__init__(f"406: Not Acceptable\n\nAvailable representations: {available}")


def not_served() -> NotAcceptable:
    """The Accept header requests a transformation or a format in which a kind is not served."""
    return NotAcceptable(f"only the following media types are accepted: {MEDIA_TYPES}")


def not_watched() -> NotAcceptable:
    """The Accept header requests a watch in a format of which there are no streams."""
    return NotAcceptable(f"only the following media types are accepted: {STREAM_TYPES}")


def unknown_format(accepted: str) -> UnsupportedMediaType:
    """The Content-Type of the body is not supported."""
    return UnsupportedMediaType(
        "the body of the request was in an unknown format - accepted media types include: "
        f"{accepted}"
    )
