"""Request bodies: decodes bytes into an object of the kind that the path names."""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import msgspec

from apps.api.kubernetes.errors import JSON_TYPES, MEDIA_TYPES, unknown_format
from apps.api.kubernetes.protobuf import envelopes
from apps.cluster import kinds, limits
from apps.cluster.documents import UnreadableDocument, parse_json, parse_yaml, repeated_keys
from apps.cluster.errors import BadRequest, RequestEntityTooLarge
from apps.cluster.json_syntax import json_name
from apps.cluster.kind import Conversion
from apps.cluster.schema import Decoded, ShapeError, decode, definition_of
from apps.cluster.validation.causes import format_value

Body = dict[str, Any]

MAX_BYTES = limits.OBJECT_BYTES.highest
_SHOWN = 30
#: A number that is not written as a whole one, and the place of one in a message.
_NUMBER = re.compile(rb"-?\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)")
_NUMBER_SHOWN = re.compile(r"(?<=cannot unmarshal number )\S+(?= into)")
#: keys that occur twice in an object and are named
_MAX_DUPLICATES = 100
_PATH_LENGTH = 1000
_YAML = ("application/yaml", "application/x-yaml", "text/yaml")
#: Group -> where the server that is part of the API server registers its kinds.
_SCHEMES = {
    "apiextensions.k8s.io": "pkg/apiserver/apiserver.go:55",
    "apiregistration.k8s.io": "pkg/apiserver/scheme/scheme.go:28",
}
#: The type into which the API server decodes what it wants to know of a body first.
_TYPE_STRUCT = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)


def check_size(size: int) -> None:
    """Reject a body that is too large."""
    if size > MAX_BYTES:
        raise too_large()


def too_large() -> RequestEntityTooLarge:
    return RequestEntityTooLarge(f"Request entity too large: limit is {MAX_BYTES}")


def parse(raw: bytes, content_type: str, api_version: str, kind: str) -> Any:
    """Plain data from a body in any supported format; UnreadableDocument if it is invalid.

    A protobuf body that does not name its type is one of `kind`.
    """
    media_type = _media_type(content_type)
    if media_type in ("", "application/json"):
        return parse_json(raw)
    if media_type in _YAML:
        return in_order(parse_yaml(raw))
    if not envelopes.has_message(api_version, kind):
        raise unknown_format(JSON_TYPES)
    if media_type == envelopes.MEDIA_TYPE:
        return envelopes.decode(raw, api_version, kind)
    raise unknown_format(MEDIA_TYPES)


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def in_order(value: Any) -> Any:
    """A value with sorted keys, as the API server has one that it converts to JSON."""
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return [in_order(each) for each in value] if isinstance(value, list) else value


def read_object(
    raw: bytes,
    content_type: str,
    *,
    kind: str,
    api_version: str,
    definition: str,
    validation: str,
    older: tuple[str, ...] = (),
) -> tuple[Body, list[str]]:
    """An object of `kind` from a body, and warnings about fields it does not have.

    `older` are apiVersions with the same fields. With Strict `validation` unknown fields are
    errors; with Ignore they are dropped silently.
    """
    value = _parse_dict(raw, content_type, kind, api_version)
    if value.get("apiVersion") not in older:
        _check_type(value, kind, api_version)
    return _read(value, raw, content_type, kind, api_version, definition, validation)


def check_type_is_text(value: Body) -> None:
    """UnreadableDocument if the apiVersion or the kind is no text."""
    for name in ("apiVersion", "kind"):
        given = value.get(name)
        if given is not None and type(given) is not str:
            raise UnreadableDocument(
                f"json parse error: json: cannot unmarshal {json_name(given)} into Go struct "
                f"field .{name} of type string"
            )


def read_custom(
    raw: bytes,
    content_type: str,
    *,
    kind: str,
    api_version: str,
    definition: str,
    validation: str,
    conversion: Conversion | None,
) -> tuple[Body, list[str]]:
    """`read_object` for a custom resource, which has to name its type.

    One of another kind keeps that: the rules of the object refuse it.
    """
    value = _parse_dict(raw, content_type, kind, api_version, custom=True)
    said = value.get("apiVersion") or ""
    if said != api_version:
        refusal = BadRequest(
            f"the API version in the data ({said}) does not match the expected API version "
            f"({api_version})"
        )
        if validation != "Ignore":
            unknown = _unknown_in(value, said, api_version, conversion)
            refusal.warnings = unknown_fields(unknown)
        raise refusal
    return _read(value, raw, content_type, kind, api_version, definition, validation)


def _unknown_in(
    value: Body, said: str, api_version: str, conversion: Conversion | None
) -> Sequence[str]:
    """The fields that a custom object does not have in its own version, if it is served."""
    group, _, version = said.rpartition("/")
    same = conversion is not None and group == api_version.rpartition("/")[0]
    definition = conversion.schema_name(version) if conversion is not None and same else ""
    if not definition:
        return [name for name in value if name not in ("apiVersion", "kind", "metadata")]
    try:
        return decode(definition, value).unknown
    except ShapeError:
        return ()


def _parse_dict(
    raw: bytes, content_type: str, kind: str, api_version: str, *, custom: bool = False
) -> Body:
    """The object in a body, whose type is text; BadRequest if there is none."""
    try:
        value = parse(raw, content_type, api_version, kind)
        if value is None:
            # Go's decoder leaves an object as it is: empty
            value = {}
        if type(value) is not dict:
            raise UnreadableDocument(
                f"json parse error: json: cannot unmarshal {json_name(value)} into Go value of "
                f"type {_TYPE_STRUCT}"
            )
        check_type_is_text(value)
        said = value.get("apiVersion") or ""
        if said.count("/") > 1:
            raise UnreadableDocument(f"unexpected GroupVersion string: {said}")
        if custom and not value.get("kind"):
            shown = raw.decode(errors="replace")
            raise UnreadableDocument(f"Object 'Kind' is missing in '{shown}'")
    except UnreadableDocument as error:
        lead = "couldn't get version/kind; " if str(error).startswith("json") else ""
        raise BadRequest(
            f"the object provided is unrecognized (must be of type {kind}): {lead}{error} "
            f"({_summary(raw)})"
        ) from error
    return value


def _read(
    value: Body,
    raw: bytes,
    content_type: str,
    kind: str,
    api_version: str,
    definition: str,
    validation: str,
) -> tuple[Body, list[str]]:
    """The decoded object, and what is wrong with it."""
    try:
        decoded = shape(value, kind=kind, api_version=api_version, definition=definition)
    except BadRequest as error:
        raise BadRequest(_NUMBER_SHOWN.sub(partial(_as_written, raw), error.message)) from error
    complaints: list[str] = []
    if validation != "Ignore":
        if _media_type(content_type) in _YAML:
            complaints = list(islice(repeated_keys(raw), _MAX_DUPLICATES))
            if complaints and validation == "Strict":
                complaints = ["\n  ".join(("yaml: unmarshal errors:", *complaints))]
        elif not _is_text_of(value, raw):
            complaints = [f'duplicate field "{path}"' for path in _duplicates(raw, content_type)]
        complaints += unknown_fields(decoded.unknown)
    if complaints and validation == "Strict":
        version = api_version.rpartition("/")[2]
        raise _unhandled(kind, version, kind, f"strict decoding error: {', '.join(complaints)}")
    return decoded.body, complaints


def unknown_fields(paths: Iterable[str]) -> list[str]:
    """What is said of fields that a kind does not have; control characters are escaped."""
    return [f"unknown field {json.dumps(path, ensure_ascii=False)}" for path in paths]


def _as_written(raw: bytes, shown: re.Match[str]) -> str:
    """A number of a message as the client wrote it: 2e0, not 2.0."""
    written = (digits.decode() for digits in _NUMBER.findall(raw))
    return next((each for each in written if str(float(each)) == shown[0]), shown[0])


def shape(value: Body, *, kind: str, api_version: str, definition: str) -> Decoded:
    """`value` as an object of its kind; BadRequest names the field with the wrong type."""
    try:
        return decode(definition, value)
    except ShapeError as error:
        version = api_version.rpartition("/")[2]
        raise _unhandled(kind, version, kind, error.message) from error


def _check_type(body: Body, kind: str, api_version: str) -> None:
    """Reject a body of another kind; a body without apiVersion and kind is accepted."""
    said_version = body.get("apiVersion") or api_version
    said_kind = body.get("kind") or kind
    if said_version == api_version and said_kind == kind:
        return
    why = wrong_type(body, kind, api_version)
    raise _unhandled(said_kind, said_version.rpartition("/")[2], kind, why)


def wrong_type(body: Body, kind: str, api_version: str) -> str:
    """Why an object is not of a kind, in the words of the API server; "" if it is."""
    said_version, said_kind = body.get("apiVersion") or api_version, body.get("kind") or kind
    if said_version == api_version and said_kind == kind:
        return ""
    if any((each.api_version, each.name) == (said_version, said_kind) for each in kinds.ALL):
        group, _, said = str(said_version).rpartition("/")
        try:
            # it is read as what it says that it is, and then converted
            decode(definition_of(group, said, said_kind), body)
        except ShapeError as error:
            return error.message
        wanted = internal_package(api_version)
        return f"converting ({said}.{said_kind}) to ({wanted}.{kind}): unknown conversion"
    return (
        f"no kind {format_value(said_kind)} is registered for version "
        f"{format_value(said_version)} in scheme "
        f'"{_SCHEMES.get(api_version.rpartition("/")[0], "pkg/api/legacyscheme/scheme.go:30")}"'
    )


def internal_package(api_version: str) -> str:
    """The Go package of a group, which messages of the API server name."""
    group = api_version.rpartition("/")[0].partition(".")[0]
    return "core" if group in ("", "events") else group


def _unhandled(said: str, version: str, kind: str, why: str) -> BadRequest:
    return BadRequest(f'{said} in version "{version}" cannot be handled as a {kind}: {why}')


def _is_text_of(value: Any, raw: bytes) -> bool:
    """Whether JSON text is the value's own, as most clients send it: then no key occurs twice.

    Clients in Go end it with a new line.
    """
    try:
        return msgspec.json.encode(value) == raw.removesuffix(b"\n")
    except (OverflowError, RecursionError, TypeError, ValueError):
        return False


def _duplicates(raw: bytes, content_type: str) -> list[str]:
    """Paths of keys that occur twice in one JSON object, each once and at most _MAX_DUPLICATES."""
    if "json" not in content_type and content_type:
        return []
    twice: dict[int, dict[str, None]] = {}

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        merged = dict(items)
        if len(merged) < len(items):
            counts = Counter(key for key, _ in items)
            twice[id(merged)] = {key: None for key in merged if counts[key] > 1}
        return merged

    document = json.loads(raw.decode(errors="replace"), object_pairs_hook=pairs)
    return list(islice(_paths(document, twice), _MAX_DUPLICATES)) if twice else []


#: A step of a path, behind the path to it.
_Path = tuple["_Path", str] | None


def _paths(document: Any, keys: Mapping[int, Iterable[str]]) -> Iterator[str]:
    """The paths of keys by the objects of the document, which is walked once."""
    queue: deque[tuple[Any, _Path]] = deque([(document, None)])
    while queue:
        value, path = queue.popleft()
        if isinstance(value, dict):
            yield from (_path_text((path, f".{key}")) for key in keys.get(id(value), ()))
            queue.extend((item, (path, f".{name}")) for name, item in value.items())
        elif isinstance(value, list):
            queue.extend((item, (path, f"[{index}]")) for index, item in enumerate(value))


def _path_text(path: _Path) -> str:
    """The path as text; of a long one, its end."""
    steps: list[str] = []
    length = 0
    while path is not None and length < _PATH_LENGTH:
        path, step = path
        steps.append(step[:_PATH_LENGTH])
        length += len(step)
    return "".join(reversed(steps)).removeprefix(".")


def _summary(raw: bytes) -> str:
    if not raw:
        return "<empty>"
    readable = raw[:1] == b"{"
    shown = raw[:_SHOWN].decode(errors="replace") if readable else raw[:_SHOWN].hex()
    return f"{shown} ..." if len(raw) > _SHOWN else shown
