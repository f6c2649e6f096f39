"""The AdmissionReview that a webhook answers with, checked as the API server checks it."""

from __future__ import annotations

import base64
import binascii
import http.client
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from apps.cluster.errors import ApiError, BadRequest
from apps.cluster.json_patch import PatchStep, read
from apps.cluster.webhook_reviews import WrongReview, read_review

Body = Mapping[str, Any]

_GROUP: Final = "admission.k8s.io"
_KIND: Final = "AdmissionReview"
_JSON_PATCH: Final = "JSONPatch"
_INVALID: Final = "received invalid webhook response: "
_UNDECODABLE: Final = "received undecodable patch in webhook response: "
_CALL: Final = "failed to call webhook: "


class WrongAnswer(Exception):
    """An answer cannot be used; the message is that of the API server."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a webhook says about a request."""

    allowed: bool
    #: a Status, with which it denies a request
    status: Body
    patch: list[PatchStep]
    warnings: list[str]
    annotations: Mapping[str, str]


class _Response(msgspec.Struct):
    allowed: bool = False
    uid: str = ""
    status: dict[str, Any] | None = None
    patch: str | None = None
    patchType: str | None = None
    warnings: list[str] | None = None
    auditAnnotations: dict[str, str] | None = None


class _Review(msgspec.Struct):
    kind: str = ""
    apiVersion: str = ""
    response: _Response | None = None


class Denied(ApiError):
    """A webhook denies a request, with a code and a reason of its choice."""

    def __init__(self, webhook: str, status: Body) -> None:
        why = str(status.get("message") or status.get("reason") or "")
        said = f'admission webhook "{webhook}" denied the request'
        super().__init__(f"{said}: {why}" if why else f"{said} without explanation")
        code = status.get("code") or 0
        self.code = code if http.client.BAD_REQUEST <= code <= _HIGHEST else http.client.BAD_REQUEST
        self.reason = str(status.get("reason") or "")
        details = status.get("details")
        self.details = dict(details) if isinstance(details, Mapping) else {}


_HIGHEST: Final = 599


def read_answer(raw: Any, *, version: str, uid: str, mutates: bool) -> Answer:
    """The answer in an AdmissionReview of this version; raises WrongAnswer."""
    review = _decode(raw, version)
    response = review.response
    if response is None:
        raise WrongAnswer(f"{_INVALID}webhook response was absent")
    if version == "v1":
        _check_type(review)
        if response.uid != uid:
            raise WrongAnswer(f'{_INVALID}expected response.uid="{uid}", got "{response.uid}"')
        _check_patch_type(response, mutates=mutates)
    return Answer(
        response.allowed,
        response.status or {},
        _read_patch(response) if mutates and response.allowed else [],
        response.warnings or [],
        response.auditAnnotations or {},
    )


def _decode(raw: Any, version: str) -> _Review:
    try:
        return read_review(raw, _Review, _GROUP, _KIND, version)
    except WrongReview as wrong:
        raise WrongAnswer(f"{_CALL}{wrong}") from wrong


def _check_type(review: _Review) -> None:
    if not review.kind:
        wanted = f"{_GROUP}/v1, Kind={_KIND}"
        raise WrongAnswer(f"{_INVALID}expected webhook response of {wanted}, got /, Kind=")


def _check_patch_type(response: _Response, *, mutates: bool) -> None:
    if not mutates:
        for name, value in (("patch", response.patch), ("patchType", response.patchType)):
            if value:
                raise WrongAnswer(f"{_INVALID}validating webhook may not return response.{name}")
        return
    if response.patch and response.patchType is None:
        why = "webhook returned response.patch but not response.patchType"
        raise WrongAnswer(_INVALID + why)
    if response.patchType is not None and not response.patch:
        why = "webhook returned response.patchType but not response.patch"
        raise WrongAnswer(_INVALID + why)


def _read_patch(response: _Response) -> list[PatchStep]:
    if not response.patch:
        return []
    try:
        patch = msgspec.json.decode(base64.b64decode(response.patch, validate=True))
    except (binascii.Error, msgspec.DecodeError, RecursionError) as wrong:
        raise WrongAnswer(f"{_UNDECODABLE}{wrong}") from wrong
    if not isinstance(patch, list):
        name = "object" if isinstance(patch, dict) else type(patch).__name__
        why = f"json: cannot unmarshal {name} into Go value of type jsonpatch.Patch"
        raise WrongAnswer(_UNDECODABLE + why)
    if response.patchType not in (None, _JSON_PATCH):
        why = f"unsupported patch type: {response.patchType}"
        raise WrongAnswer(_INVALID + why)
    try:
        return read(patch)
    except (BadRequest, ApiError) as wrong:
        raise WrongAnswer(f"{_UNDECODABLE}{wrong.message}") from wrong
