"""Errors of the control-plane API in one format."""

from __future__ import annotations

import logging
from typing import Any

from rest_framework.exceptions import (
    APIException,
    ErrorDetail,
    NotAuthenticated,
    ValidationError,
)
from rest_framework.permissions import SAFE_METHODS
from rest_framework.response import Response
from rest_framework.views import exception_handler

from apps.cluster.availability import is_database_unavailable, refusal_for
from apps.cluster.errors import ApiError
from apps.scheduler.config import ConfigError

log = logging.getLogger(__name__)

Causes = list[dict[str, str]]

_HOW_TO_AUTHENTICATE = (
    'Send a token in the header "Authorization: Bearer TOKEN"; the account page creates one.'
)


def handle(error: Exception, context: dict[str, Any]) -> Response | None:
    """`{"reason", "message", "causes": [{"field", "message"}]}` with the matching status code."""
    match error:
        case ApiError():
            seconds = error.details.get("retryAfterSeconds")
            headers = None if seconds is None else {"Retry-After": str(seconds)}
            return _response(error.code, error.reason, error.message, _causes(error), headers)
        case ConfigError():
            causes = [{"field": c.field, "message": c.message} for c in error.causes]
            return _response(422, "Invalid", str(error), causes)
        case ValidationError():
            causes = list(_flatten_causes(error.detail))
            message = "; ".join(f"{c['field']}: {c['message']}" for c in causes)
            return _response(400, "BadRequest", message, causes)
        case _ if is_database_unavailable(error):
            log.error("the database is not available, or overloaded", exc_info=error)
            writes = context["request"].method not in SAFE_METHODS
            refusal = refusal_for(error, writes=writes)
            retry = {"Retry-After": str(refusal.details["retryAfterSeconds"])}
            return _response(refusal.code, refusal.reason, refusal.message, [], retry)
    if isinstance(error, NotAuthenticated):
        error.detail = ErrorDetail(_HOW_TO_AUTHENTICATE, error.default_code)
    response = exception_handler(error, context)
    if response is not None:
        # DRF's handler adds a detail to Django's 404 and 403 as well
        detail = str(response.data.get("detail", "")) if isinstance(response.data, dict) else ""
        headers = {name: value for name, value in response.items() if name != "Content-Type"}
        return _response(response.status_code, _reason(error), detail, [], headers)
    return None


def _response(
    code: int, reason: str, message: str, causes: Causes, headers: dict[str, str] | None = None
) -> Response:
    body = {"reason": reason, "message": message, "causes": causes}
    return Response(body, status=code, headers=headers)


def _causes(error: ApiError) -> Causes:
    """The causes of an error, or those of the error that caused it, each once."""
    causes = error.details.get("causes")
    if causes is None and isinstance(error.__cause__, ApiError):
        causes = error.__cause__.details.get("causes")
    distinct = dict.fromkeys((each.get("field", ""), each["message"]) for each in causes or ())
    return [{"field": field, "message": message} for field, message in distinct]


def _flatten_causes(detail: Any, field: str = "") -> list[dict[str, str]]:
    if isinstance(detail, dict):
        return [
            cause
            for name, inner in detail.items()
            for cause in _flatten_causes(inner, f"{field}.{name}" if field else str(name))
        ]
    if isinstance(detail, list):
        return [cause for inner in detail for cause in _flatten_causes(inner, field)]
    return [{"field": field, "message": str(detail)}]


def _reason(error: Exception) -> str:
    words = {400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound"}
    code = error.status_code if isinstance(error, APIException) else 404
    return words.get(code, type(error).__name__)
