"""The kinds of patches: merge patch, JSON patch, strategic merge patch, and server-side apply.

A patch is parsed before an object is locked, so that a malformed one is rejected early. Parsing
returns a function from the stored object to the patched one, which does not alter its argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apps.api.kubernetes.errors import NoRoute, UnprocessablePatch, unknown_format
from apps.cluster import json_patch, merge_patch, strategic_merge_patch
from apps.cluster.documents import UnreadableDocument, parse_json, parse_yaml
from apps.cluster.errors import BadRequest
from apps.cluster.schema.definitions import is_custom

Body = dict[str, Any]
Patch = Callable[[Body], Body]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_ACCEPTED = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)


def is_apply(content_type: str) -> bool:
    """Whether a body of this type is a server-side apply."""
    return _media_type(content_type) == APPLY_PATCH


def is_strategic(content_type: str) -> bool:
    """Whether the patch is a strategic merge patch."""
    return _media_type(content_type) == STRATEGIC_MERGE_PATCH


def read_apply(raw: bytes) -> Body:
    """The fields that a server-side apply sets; BadRequest if it is no object."""
    try:
        applied = parse_yaml(raw)
    except UnreadableDocument as error:
        raise BadRequest(f"error decoding YAML: {error}") from error
    if not isinstance(applied, dict):
        raise BadRequest("error decoding YAML: the patch must be an object")
    return applied


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def read_patch(raw: bytes, content_type: str, definition: str) -> Patch:
    """The patch in a body; BadRequest or UnsupportedMediaType if it is invalid."""
    media_type = _media_type(content_type)
    accepted = [each for each in _ACCEPTED if each != STRATEGIC_MERGE_PATCH]
    if is_custom(definition) and media_type not in accepted:
        raise unknown_format(", ".join(accepted))
    if media_type not in _ACCEPTED:
        raise NoRoute
    try:
        patch = parse_json(raw)
    except UnreadableDocument as error:
        why = str(error).removeprefix("json parse error: ")
        raise BadRequest(f"error decoding patch: {why}") from error
    if media_type == JSON_PATCH:
        return _json_patch(json_patch.read(patch))
    if not isinstance(patch, dict):
        name = json_patch.JSON_NAMES.get(type(patch), "number")
        why = f"json: cannot unmarshal {name} into Go value of type map[string]interface {{}}"
        lead = "error decoding patch: " if media_type == MERGE_PATCH else ""
        raise BadRequest(f"{lead}{why}")
    if media_type == MERGE_PATCH:
        return lambda body: merge_patch.merge(body, patch)
    return lambda body: strategic_merge_patch.merge(body, patch, definition)


def _json_patch(steps: list[json_patch.PatchStep]) -> Patch:
    def apply(body: Body) -> Body:
        try:
            return json_patch.apply(body, steps)
        except json_patch.PatchProblem as problem:
            raise UnprocessablePatch() from problem

    return apply
