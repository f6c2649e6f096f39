"""Custom objects in another version: as they are stored, and as clients ask for them.

A webhook is sent a ConversionReview with the objects of other versions. Its answer is checked as
the API server checks it: of the metadata it may change labels and annotations alone. What comes of
it has no field that its version does not have; what is stored has all defaults of its version.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from apps.cluster.admission.webhooks.chain import CallWebhook
from apps.cluster.errors import Cause, ConversionFailed
from apps.cluster.json_syntax import json_name
from apps.cluster.kind import Conversion
from apps.cluster.kinds import Kind
from apps.cluster.random_ids import random_uuid_text
from apps.cluster.schema.definitions import structural
from apps.cluster.schema.pruning import prune, set_defaults
from apps.cluster.validation.metadata import validate_annotations, validate_labels
from apps.cluster.webhook_client import CallFailed
from apps.cluster.webhook_reviews import WrongReview, read_review, version_of

Body = dict[str, Any]

_GROUP: Final = "apiextensions.k8s.io"
_KIND: Final = "ConversionReview"
#: So many objects of a list, or so many bytes of them, are in one review.
_OBJECTS: Final = 500
_BYTES: Final = 1024 * 1024
_SECONDS: Final = 30
_CHANGEABLE: Final = ("labels", "annotations")
_GO_TYPES: Final = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
    type(None): "<nil>",
}


def from_stored(kind: Kind, bodies: Sequence[Body], call: CallWebhook | None) -> list[Body]:
    """Stored objects in the version of a kind; ConversionFailed, also if `call` has to be None."""
    if kind.conversion is None:
        return list(bodies)
    return _convert(kind, kind.conversion, bodies, kind.version, call)


def to_stored(kind: Kind, body: Body, call: CallWebhook | None) -> Body:
    """An object of a kind as it is stored; ConversionFailed, also if `call` has to be None."""
    conversion = kind.conversion
    if conversion is None or kind.version == conversion.storage:
        return body
    (stored,) = _convert(kind, conversion, [body], conversion.storage, call)
    schema = structural(conversion.schema_name(conversion.storage))
    rest = {name: copy.deepcopy(value) for name, value in stored.items() if name != "metadata"}
    set_defaults(schema, rest)
    return {**stored, **rest}


def in_version(kind: Kind, body: Body, version: str, call: CallWebhook | None) -> Body:
    """An object of a kind in one of its versions; ConversionFailed, also if there is no `call`."""
    if kind.conversion is None:
        return body
    return _convert(kind, kind.conversion, [body], version, call)[0]


def in_api_version(
    kind: Kind, body: Body, api_version: str, call: CallWebhook | None = None
) -> Body:
    """An object to compare, in the version of one that owns fields; ConversionFailed.

    A field that this version does not have cannot be compared.
    """
    conversion, version = kind.conversion, api_version.rpartition("/")[2]
    if conversion is None:
        return body
    unknown: list[str] = []
    (converted,) = _convert(kind, conversion, [body], version, call, unknown)
    if unknown:
        raise ConversionFailed(f".{unknown[0]}: field not declared in schema")
    return converted


def may_call(kind: Kind) -> bool:
    """Whether reading or writing an object of a kind may ask a webhook."""
    conversion = kind.conversion
    if conversion is None or not conversion.webhook:
        return False
    return kind.version != conversion.storage or kind.is_stored_otherwise


def _convert(
    kind: Kind,
    conversion: Conversion,
    bodies: Sequence[Body],
    version: str,
    call: CallWebhook | None,
    unknown: list[str] | None = None,
) -> list[Body]:
    """`unknown` gets the paths of the fields that are dropped."""
    wanted = f"{kind.group}/{version}"
    others = [body for body in bodies if body["apiVersion"] != wanted]
    if not others:
        return list(bodies)
    if conversion.webhook:
        converted = _ask(_webhook(conversion.webhook), others, wanted, call)
    else:
        converted = [{**body, "apiVersion": wanted} for body in others]
    schema = structural(conversion.schema_name(version))
    dropped = [] if unknown is None else unknown
    pruned = iter([prune(schema, body, dropped) for body in converted])
    return [body if body["apiVersion"] == wanted else next(pruned) for body in bodies]


@lru_cache(maxsize=256)
def _webhook(text: str) -> Body:
    webhook: Body = json.loads(text)
    return webhook


def _ask(
    webhook: Body, bodies: Sequence[Body], wanted: str, call: CallWebhook | None
) -> list[Body]:
    """The objects as the webhook converts them."""
    converted: list[Body] = []
    for part in _parts(bodies):
        about = f"conversion webhook for {part[0]['apiVersion']}, Kind={part[0]['kind']}"
        if call is None:
            raise ConversionFailed(
                f"{about} is not called here, where several objects are written in one "
                f"transaction: give the object in the version that is stored"
            )
        for old, new in zip(part, _answer(webhook, part, wanted, call, about), strict=True):
            converted.append(_checked(old, new, wanted, about))
    return converted


def _parts(bodies: Sequence[Body]) -> Iterator[list[Body]]:
    """The objects of one review each."""
    part: list[Body] = []
    size = 0
    for body in bodies:
        size += len(msgspec.json.encode(body))
        if part and (size > _BYTES or len(part) == _OBJECTS):
            yield part
            part, size = [], 0
        part.append(body)
    yield part


class _Result(msgspec.Struct):
    status: str = ""
    message: str = ""


class _Response(msgspec.Struct):
    uid: str = ""
    convertedObjects: list[Any] | None = None
    result: _Result = msgspec.field(default_factory=_Result)


class _Review(msgspec.Struct):
    kind: str = ""
    apiVersion: str = ""
    response: _Response | None = None


def _answer(
    webhook: Body, bodies: Sequence[Body], wanted: str, call: CallWebhook, about: str
) -> list[Any]:
    """What the webhook returns for these objects, as many."""
    version = version_of(webhook.get("conversionReviewVersions") or ())
    if not version:
        raise ConversionFailed("no supported conversion review versions")
    uid = random_uuid_text()
    review = {
        "kind": _KIND,
        "apiVersion": f"{_GROUP}/{version}",
        "request": {"uid": uid, "desiredAPIVersion": wanted, "objects": bodies},
    }
    (raw,) = call.all([(webhook["clientConfig"], review, _SECONDS)])
    if isinstance(raw, CallFailed):
        raise ConversionFailed(f"{about} failed: {raw}")
    try:
        objects = _read(raw, version, uid)
    except WrongReview as wrong:
        raise ConversionFailed(f"{about} failed: {wrong}") from wrong
    if len(objects) != len(bodies):
        raise ConversionFailed(f"{about} returned {len(objects)} objects, expected {len(bodies)}")
    return objects


def _read(raw: Any, version: str, uid: str) -> list[Any]:
    """The objects of an answer; WrongReview if there are none."""
    review = read_review(raw, _Review, _GROUP, _KIND, version)
    response = review.response
    if version == "v1" and not review.kind:
        wanted = f"{_GROUP}/v1, Kind={_KIND}"
        raise WrongReview(f"expected webhook response of {wanted}, got /, Kind=")
    if response is None:
        raise WrongReview("no response provided")
    if version == "v1" and response.uid != uid:
        raise WrongReview(f'expected response.uid="{uid}", got "{response.uid}"')
    result = response.result
    if result.status != "Success":
        why = f"response.result.status was '{result.status}', not 'Success'"
        raise WrongReview(result.message or why)
    return response.convertedObjects or []


def _checked(old: Body, new: Any, wanted: str, about: str) -> Body:
    """A converted object with the metadata of the original, but for labels and annotations."""
    if new is None:
        raise ConversionFailed("unexpected end of JSON input")
    if not isinstance(new, dict):
        wanted = "Go value of type map[string]interface {}"
        raise ConversionFailed(f"json: cannot unmarshal {json_name(new)} into {wanted}")
    if not new.get("kind"):
        raise ConversionFailed(f"Object 'Kind' is missing in '{json.dumps(new)}'")
    said = new.get("apiVersion", "")
    if said != wanted:
        raise ConversionFailed(
            f"{about} returned invalid object at index 0: invalid groupVersion (expected {wanted}, "
            f"received {said})"
        )
    if new["kind"] != old["kind"]:
        raise ConversionFailed(
            f"{about} returned invalid object at index 0: invalid kind (expected {old['kind']}, "
            f"received {new['kind']})"
        )
    metadata = new.get("metadata")
    given = metadata if isinstance(metadata, dict) else {}
    for name, shown in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        before, after = old["metadata"].get(name, ""), given.get(name, "")
        if before != after:
            raise ConversionFailed(
                f"{about} returned invalid object: must have the same {shown}: {before} != {after}"
            )
    try:
        return {**new, "metadata": _restored(old["metadata"], given)}
    except _InvalidMetadata as invalid:
        raise ConversionFailed(f"{about} returned invalid metadata: {invalid}") from invalid


class _InvalidMetadata(Exception):
    pass


def _restored(before: Body, given: Body) -> Body:
    metadata = dict(before)
    for field in _CHANGEABLE:
        value = given.get(field)
        if value is None:
            metadata.pop(field, None)
            continue
        if not isinstance(value, dict):
            kind = _GO_TYPES[type(value)]
            raise _InvalidMetadata(f"invalid metadata.{field} of type {kind} in converted object")
        for key, each in value.items():
            if not isinstance(each, str):
                raise _InvalidMetadata(
                    f"metadata.{field}[{key}] must be a string, but is {_GO_TYPES[type(each)]} in "
                    "converted object"
                )
        if value != before.get(field, {}):
            _check_changed(field, value)
        if value:
            metadata[field] = value
        else:
            metadata.pop(field, None)
    return metadata


def _check_changed(field: str, value: dict[str, str]) -> None:
    causes: list[Cause]
    if field == "labels":
        causes = list(validate_labels(value, "metadata.labels"))
    else:
        # the API server names the path so
        causes = list(validate_annotations(value, "metadata.annotation"))
    texts = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    if texts:
        raise _InvalidMetadata(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
