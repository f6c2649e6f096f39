"""Refusals of the API as a whole, made before an object is looked at."""

from __future__ import annotations

from typing import Any

from apps.cluster.errors import ApiError, NotAcceptable, UnsupportedMediaType

JSON_TYPES = "application/json, application/yaml"


class Undetailed(ApiError):
    """A refusal whose Status carries an empty `details`."""

    def status(self) -> dict[str, Any]:
        status = super().status()
        return {**status, "details": {}, "code": status["code"]}


class UnknownPath(Undetailed):
    code, reason = 404, "NotFound"

    def __init__(self) -> None:
        super().__init__("the server could not find the requested resource")


class WrongMethod(Undetailed):
    code, reason = 405, "MethodNotAllowed"

    def __init__(self) -> None:
        super().__init__("the server does not allow this method on the requested resource")


class UnprocessablePatch(Undetailed):
    """A JSON patch that does not apply; `warnings` say why, as the Status does not."""

    code, reason = 422, "Invalid"

    def __init__(self, why: str) -> None:
        super().__init__("the server rejected our request due to an error in our request")
        self.warnings = [why]


class NoRepresentation(Undetailed):
    """Nothing of what the Accept header asks for can be given."""

    code, reason = 406, "NotAcceptable"

    def __init__(self) -> None:
        super().__init__(f"406: Not Acceptable\n\nAvailable representations: {JSON_TYPES}")


def unknown_transformation() -> NotAcceptable:
    """The Accept header asks for `as=` something that does not exist."""
    return NotAcceptable(f"only the following media types are accepted: {JSON_TYPES}")


def unknown_format(accepted: str) -> UnsupportedMediaType:
    """The Content-Type of the body is none that can be read."""
    return UnsupportedMediaType(
        "the body of the request was in an unknown format - accepted media types include: "
        f"{accepted}"
    )
