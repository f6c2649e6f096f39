"""The reviews with which webhooks answer, read as the API server reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeVar

import msgspec

_SCHEME: Final = 'in scheme "pkg/util/webhook/client.go:71"'
_VERSIONS: Final = ("v1", "v1beta1")
_MISMATCH: Final = re.compile(r"Expected `(.+)`, got `(\w+)` - at `\$\.(.+)`")
_TYPES: Final = {"str": "string", "int": "number", "float": "number"}


class WrongReview(Exception):
    """An answer is no review of the right version; the message is that of the API server."""


class Review(Protocol):
    """The fields that a review has, whatever it is about."""

    kind: str
    apiVersion: str


R = TypeVar("R", bound=Review)


def version_of(accepted: Sequence[str]) -> str:
    """The first version of `accepted` that can be sent; "" if there is none."""
    return next((each for each in accepted if each in _VERSIONS), "")


def read_review(raw: Any, shape: type[R], group: str, kind: str, version: str) -> R:
    """The answer as a review of this group, kind and version, or of none; raises WrongReview."""
    try:
        review = msgspec.convert(raw, shape)
    except msgspec.ValidationError as wrong:
        raise WrongReview(f"json: {_describe(wrong, kind, version)}") from wrong
    said_group, _, said = review.apiVersion.rpartition("/")
    if not (review.kind or review.apiVersion):
        return review
    if (said_group, said, review.kind) == ("", "v1", "Status"):
        raise WrongReview(f"converting (v1.Status) to ({version}.{kind}): unknown conversion")
    if (said_group, review.kind) != (group, kind) or said not in _VERSIONS:
        raise WrongReview(
            f'no kind "{review.kind}" is registered for version "{review.apiVersion}" {_SCHEME}'
        )
    if said != version:
        raise WrongReview(f"converting ({said}.{kind}) to ({version}.{kind}): unknown conversion")
    return review


def _describe(wrong: msgspec.ValidationError, kind: str, version: str) -> str:
    """A value of a wrong type, as the API server describes it."""
    match = _MISMATCH.fullmatch(str(wrong))
    if match is None:
        return str(wrong)
    wanted, given, path = match.groups()
    wanted, given = (_TYPES.get(each, each) for each in (wanted.partition(" ")[0], given))
    place = path.replace("[...]", "")
    response = kind.replace("Review", "Response")
    if place == "response":
        wanted, given = f"{version}.{response}", {"int": "number"}.get(given, given)
    owner = response if place.startswith("response.") else kind
    return f"cannot unmarshal {given} into Go struct field {owner}.{place} of type {wanted}"
