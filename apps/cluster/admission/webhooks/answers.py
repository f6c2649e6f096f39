"""The AdmissionReview that a webhook answers with, checked as the API server checks it."""

from __future__ import annotations

import base64
import binascii
import http.client
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from apps.cluster.errors import ApiError, BadRequest
from apps.cluster.json_patch import PatchStep, read

Body = Mapping[str, Any]

_GROUP: Final = "admission.k8s.io"
_KIND: Final = "AdmissionReview"
_JSON_PATCH: Final = "JSONPatch"
_INVALID: Final = "received invalid webhook response: "
_UNDECODABLE: Final = "received undecodable patch in webhook response: "
_CALL: Final = "failed to call webhook: "
_SCHEME: Final = 'in scheme "pkg/util/webhook/client.go:71"'
_VERSIONS: Final = ("v1", "v1beta1")


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

    def status(self) -> dict[str, Any]:
        found = super().status()
        return found if self.reason else {k: v for k, v in found.items() if k != "reason"}


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
        review = msgspec.convert(raw, _Review)
    except msgspec.ValidationError as wrong:
        raise WrongAnswer(f"{_CALL}json: {_describe(wrong)}") from wrong
    group, _, given = review.apiVersion.rpartition("/")
    if not (review.kind or review.apiVersion):
        return review
    if (group, review.kind) != (_GROUP, _KIND) or given not in _VERSIONS:
        registered = f'no kind "{review.kind}" is registered for version "{review.apiVersion}"'
        raise WrongAnswer(f"{_CALL}{registered} {_SCHEME}")
    if given != version:
        conversion = f"converting ({given}.{_KIND}) to ({version}.{_KIND}): unknown conversion"
        raise WrongAnswer(_CALL + conversion)
    return review


def _describe(wrong: msgspec.ValidationError) -> str:
    """A value of a wrong type, as the API server describes it."""
    found = _MISMATCH.fullmatch(str(wrong))
    if found is None:
        return str(wrong)
    wanted, given, path = found.groups()
    wanted, given = (_TYPES.get(each, each) for each in (wanted.partition(" ")[0], given))
    place = path.replace("[...]", "")
    owner = "AdmissionResponse" if place.startswith("response.") else _KIND
    return f"cannot unmarshal {given} into Go struct field {owner}.{place} of type {wanted}"


_MISMATCH: Final = re.compile(r"Expected `(.+)`, got `(\w+)` - at `\$\.(.+)`")
_TYPES: Final = {"str": "string", "int": "number", "float": "number"}


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
