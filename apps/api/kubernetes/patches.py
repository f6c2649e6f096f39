"""The verb patch, and server-side apply, which may create the object."""

from __future__ import annotations

from functools import partial
from typing import Any

from apps.api.kubernetes import params
from apps.api.kubernetes.bodies import check_type_is_text, in_order, unknown_fields, wrong_type
from apps.api.kubernetes.calls import Answer, Call, warning
from apps.api.kubernetes.params import WriteOptions
from apps.api.kubernetes.patching import is_apply, is_strategic, read_apply, read_patch
from apps.api.kubernetes.verbs import check_kind, check_name, check_times, modify, without_version
from apps.cluster.custom.conversion import in_api_version
from apps.cluster.documents import UnreadableDocument, parse_json
from apps.cluster.errors import BadRequest, Cause, Conflict, Invalid, NotFound
from apps.cluster.ownership import last_applied
from apps.cluster.ownership.field_paths import InvalidList
from apps.cluster.ownership.managers import Manager
from apps.cluster.ownership.paths import display
from apps.cluster.ownership.writes import Applying
from apps.cluster.schema import ShapeError, convert, decode
from apps.cluster.schema.definitions import is_custom, structural
from apps.cluster.schema.go_types import print_value
from apps.cluster.validation.causes import format_value, invalid
from apps.cluster.validation.custom_objects import find_nulls
from apps.cluster.warnings.objects import warnings_of
from apps.cluster.writing import store
from apps.cluster.writing.webhook_calls import webhooks_of

Body = dict[str, Any]


def patch(call: Call) -> Answer:
    if is_apply(call.content_type):
        return _apply(call, params.write_options(call.query, call.method, apply=True))
    resource = call.resource
    apply = read_patch(call.raw, call.content_type, resource.definition)
    options = params.write_options(call.query, call.method)
    warnings: list[str] = []

    def change(old: Body) -> Body:
        patched = apply(resource.to_wire(old))
        _check_type(call, patched)
        decoded, warnings[:] = decode_patched(call, patched, resource.definition, options)
        body = resource.from_wire(decoded)
        check_name(call, body)
        _check_uid_unchanged(call, old, body)
        check_times(call, old, body)
        return body

    with warning(warnings):
        body = modify(call, change, options.dry_run, warnings)
    return Answer(body, 200, warnings)


def _apply(call: Call, options: WriteOptions) -> Answer:
    """Server-side apply; creates the object if there is none."""
    applied = _read_applied(call)
    manager = Manager(
        call.actor.manager, "Apply", call.resource.api_version, call.target.subresource
    )
    kind = call.resource.kind
    to_version = partial(in_api_version, kind, call=webhooks_of(call.cluster))
    nulls = _find_nulls(call)
    applying = Applying(kind, manager, applied, options.force, to_version)
    _check_lists(call, applying)
    warnings: list[str] = []

    def change(old: Body) -> Body:
        version = (applied.get("metadata") or {}).get("resourceVersion")
        body = applying.merge(old)
        if manager.name == last_applied.KUBECTL:
            body = last_applied.synchronized(body, read_apply(call.raw))
        if version:
            body = {**body, "metadata": {**body["metadata"], "resourceVersion": version}}
        check_name(call, body)
        if nulls:
            raise Invalid(kind.name, call.target.name, nulls, kind.group)
        return body

    try:
        body = modify(call, change, options.dry_run, warnings, applying)
        return Answer(body, 200, warnings)
    except NotFound:
        if call.target.subresource:
            raise
    body = _new_object(call, applied)
    if nulls:
        raise Invalid(kind.name, call.target.name, nulls, kind.group)
    created = store.create(
        call.cluster,
        call.resource.kind,
        body,
        actor=call.actor,
        namespace=call.namespace,
        dry_run=options.dry_run,
        applying=applying,
    )
    warnings = warnings_of(call.resource.kind, created)
    return Answer(without_version(created) if options.dry_run else created, 201, warnings)


def _read_applied(call: Call) -> Body:
    """The fields that the patch sets, in stored form."""
    resource = call.resource
    applied = read_apply(call.raw)
    metadata = applied.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise BadRequest("metadata.managedFields must be nil")
    said = (applied.get("apiVersion") or "", applied.get("kind") or "")
    if said != (resource.api_version, resource.kind.name):
        group, _, version = str(said[0]).rpartition("/")
        raise BadRequest(f"invalid object type: {group}/{version}, Kind={said[1]}")
    try:
        decoded = decode(resource.definition, applied)
    except ShapeError as error:
        raise _untyped(call, f".{error.field}", error.message) from error
    if decoded.unknown:
        raise _untyped(call, f".{decoded.unknown[0]}", "field not declared in schema")
    if not is_custom(resource.definition):
        _restore_empty(applied, decoded.body)
    return resource.from_wire(decoded.body)


def _find_nulls(call: Call) -> list[Cause]:
    """Why an apply is refused that sets fields of a custom object to null.

    Other writes drop such fields, and so does this one where they have a default.
    """
    definition = call.resource.definition
    if not is_custom(definition):
        return []
    return list(find_nulls(structural(definition), read_apply(call.raw)))


def _restore_empty(said: Any, decoded: Any) -> None:
    """Put back empty values and nulls, which decoding leaves out: an apply owns them, too."""
    if isinstance(said, dict) and isinstance(decoded, dict):
        for name, value in said.items():
            if name in decoded:
                _restore_empty(value, decoded[name])
            elif not value and name != "status":
                decoded[name] = value
    elif isinstance(said, list) and isinstance(decoded, list):
        for one, other in zip(said, decoded, strict=True):
            _restore_empty(one, other)


def _check_lists(call: Call, applying: Applying) -> None:
    try:
        applying.owned()
    except InvalidList as error:
        raise _untyped(call, display(error.path), error.why) from error


def _untyped(call: Call, path: str, why: str) -> BadRequest:
    resource = call.resource
    about = f"{call.namespace}/{call.target.name}; {resource.group}/{resource.version}"
    return BadRequest(
        f"failed to create typed patch object ({about}, Kind={resource.kind.name}): {path}: {why}"
    )


def _new_object(call: Call, applied: Body) -> Body:
    body = {**applied, "metadata": dict(applied.get("metadata") or {})}
    body["metadata"].setdefault("name", call.target.name)
    check_name(call, body)
    uid = body["metadata"].get("uid")
    if uid:
        raise Conflict(
            call.resource.plural,
            call.target.name,
            f"uid mismatch: the provided object specified uid {uid}, and no existing object was "
            "found",
            call.resource.group,
        )
    if body["metadata"].get("resourceVersion"):
        raise NotFound(call.resource.plural, call.target.name, call.resource.group)
    return body


def _check_uid_unchanged(call: Call, old: Body, new: Body) -> None:
    """Reject a patch of the uid."""
    said, is_ = new["metadata"].get("uid"), old["metadata"]["uid"]
    if said and said != is_:
        cause = Cause(
            "FieldValueInvalid", f'Invalid value: "{said}": field is immutable', "metadata.uid"
        )
        # upstream reports it twice, before and after the rules of the kind
        causes = [cause, cause]
        raise Invalid(call.resource.kind.name, call.target.name, causes, call.resource.group)


def _check_type(call: Call, patched: Body) -> None:
    """Reject a patch of apiVersion or kind; a strategic one cannot change them."""
    resource = call.resource
    said = (patched.get("apiVersion"), patched.get("kind"))
    is_text = all(text is None or isinstance(text, str) for text in said)
    if is_strategic(call.content_type):
        if is_text:
            patched.update(apiVersion=resource.api_version, kind=resource.kind.name)
        return
    if resource.custom is not None:
        if said[0] != resource.api_version:
            detail = f"must be {resource.api_version}"
            group = str(said[0]).rpartition("/")[0]
            cause = invalid("apiVersion", said[0], detail)
            raise Invalid(str(said[1]), call.target.name, [cause], group)
        check_kind(call, patched)
        return
    try:
        check_type_is_text(patched)
    except UnreadableDocument as error:
        raise _invalid_patch(f"couldn't get version/kind; {error}") from error
    why = wrong_type(in_order(patched), resource.kind.name, resource.api_version)
    if why:
        raise _invalid_patch(why)


def decode_patched(
    call: Call, body: Body, definition: str, options: WriteOptions
) -> tuple[Body, list[str]]:
    """A patched object, and warnings about fields that it does not have."""
    shown = "{...}"
    strategic = is_strategic(call.content_type)
    if strategic:
        shown = print_value(parse_json(call.raw))
    try:
        # other patches result in JSON with sorted keys, which is decoded
        decoded = convert(definition, body) if strategic else decode(definition, in_order(body))
    except ShapeError as error:
        raise _invalid_patch(error.message, shown) from error
    complaints = unknown_fields(decoded.unknown)
    if complaints and options.validation == "Strict":
        raise _invalid_patch(f"strict decoding error: {', '.join(complaints)}", shown)
    return decoded.body, complaints if options.validation == "Warn" else []


def _invalid_patch(why: str, shown: str = "{...}") -> Invalid:
    cause = Cause("FieldValueInvalid", f"Invalid value: {format_value(shown)}: {why}", "patch")
    refusal = Invalid("", "", [cause])
    refusal.details.pop("kind")
    return refusal
