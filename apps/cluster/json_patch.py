"""JSON patch, RFC 6902."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from apps.cluster import limits
from apps.cluster.documents import depth_of
from apps.cluster.errors import BadRequest, RequestEntityTooLarge

Body = dict[str, Any]

#: The limit of the API server for what all copies of a patch add, in bytes of JSON.
_MAX_COPIED = 3 * 1024 * 1024
_NEEDS_FROM = frozenset({"move", "copy"})
_STEPS = frozenset({"add", "remove", "replace", "test", *_NEEDS_FROM})
_TOO_DEEP = "the result has too many levels"
_INDEX = re.compile(r"[+-]?\d{1,9}", re.ASCII)
#: Types as messages name them.
JSON_NAMES = {str: "string", bool: "bool", list: "array", dict: "object"}


class PatchProblem(ValueError):
    """A patch does not apply; the message is that of the API server."""


class FailedTest(PatchProblem):
    """A step `test` finds another value."""


class _Missing(Exception):
    """The path of a step leads nowhere."""


@dataclass(frozen=True, slots=True)
class PatchStep:
    """One step of a patch; `path` and `source` are the parts of JSON pointers, or None."""

    op: str
    path: tuple[str, ...] | None
    source: tuple[str, ...] | None = None
    value: Any = None


def read(patch: Any) -> list[PatchStep]:
    """The steps of a patch.

    Raises BadRequest for something else than steps, RequestEntityTooLarge for too many.
    """
    if not isinstance(patch, list):
        name = "null" if patch is None else JSON_NAMES.get(type(patch), "number")
        raise BadRequest(
            f"error decoding patch: json: cannot unmarshal {name} into Go value of type "
            "[]handlers.jsonPatchOp"
        )
    if len(patch) > limits.PATCH_STEPS.highest:
        raise RequestEntityTooLarge(
            "The allowed maximum operations in a JSON patch is "
            f"{limits.PATCH_STEPS.highest}, got {len(patch)}"
        )
    return [_read_step(step, index) for index, step in enumerate(patch)]


def apply(body: Body, steps: list[PatchStep]) -> Body:
    """`body` after all steps; PatchProblem if one of them does not apply.

    A part that is copied into itself doubles with every copy: what all copies add is limited, and
    the levels are those of an object that is sent.
    """
    try:
        changed = _apply_all(body, steps)
    except RecursionError:
        raise PatchProblem(_TOO_DEEP) from None
    if not isinstance(changed, dict):
        raise PatchProblem("the result is not an object")
    if not limits.DOCUMENT_DEPTH.admits(depth_of(changed)):
        raise PatchProblem(_TOO_DEEP)
    return changed


def _apply_all(body: Body, steps: list[PatchStep]) -> Any:
    holder = {"": copy.deepcopy(body)}
    copied = 0
    for step in steps:
        try:
            if step.op == "copy" and step.source is not None:
                copied += len(msgspec.json.encode(_get(holder, step.source)))
                if copied > _MAX_COPIED:
                    raise PatchProblem(
                        f"Unable to copy, the accumulated size increase of copy is {copied}, "
                        f"exceeding the limit {_MAX_COPIED}"
                    )
            _apply(holder, step)
        except _Missing:
            problem = FailedTest if step.op == "test" else PatchProblem
            raise problem(_missing(step)) from None
    return holder.get("")


def _read_step(step: Any, index: int) -> PatchStep:
    if not isinstance(step, dict):
        name = "null" if step is None else JSON_NAMES.get(type(step), "number")
        raise BadRequest(
            f"error decoding patch: json: cannot unmarshal {name} into Go value of type "
            "handlers.jsonPatchOp"
        )
    for field in ("op", "from", "path"):
        if not isinstance(step.get(field) or "", str):
            name = JSON_NAMES.get(type(step[field]), "number")
            raise BadRequest(
                f"error decoding patch: json: cannot unmarshal {name} into Go struct field "
                f"jsonPatchOp.{field} of type string"
            )
    return PatchStep(
        step.get("op") or "",
        _pointer(step.get("path")),
        _pointer(step.get("from")),
        step.get("value"),
    )


def _pointer(text: str | None) -> tuple[str, ...] | None:
    """The parts of a JSON pointer; none for the whole object, and None if it is missing."""
    if text == "":
        return ()
    if not text or "/" not in text:
        return None
    parts = text.split("/")[1:]
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)


def _missing(step: PatchStep) -> str:
    """What the API server says of a step whose path leads nowhere."""
    path = _pointer_text(step.path)
    match step.op:
        case "move" | "copy":
            return (
                f"{step.op} operation does not apply: doc is missing from path: "
                f"{_pointer_text(step.source)}: missing value"
            )
        case "replace":
            return f"replace operation does not apply: doc is missing path: {path}: missing value"
        case "test":
            return f"testing value {path} failed: test failed"
    return f'{step.op} operation does not apply: doc is missing path: "{path}": missing value'


def _pointer_text(parts: tuple[str, ...] | None) -> str:
    return "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in parts or ())


#: Steps for which the path may be the whole object.
_OF_ALL: Final = ("add", "replace", "test")


def _apply(holder: Body, step: PatchStep) -> None:
    """Execute a step. A missing member of an object is null for `replace`, `test` and `copy`."""
    path, source = step.path, step.source
    if step.op not in _STEPS:
        raise PatchProblem(f"Unexpected kind: {step.op or 'unknown'}")
    if path is None or (step.op in _NEEDS_FROM and source is None):
        raise _Missing
    if path == () and step.op not in _OF_ALL:
        raise _Missing
    match step.op:
        case "add":
            _add(holder, path, copy.deepcopy(step.value))
        case "remove":
            _remove(holder, path)
        case "replace":
            _replace(holder, path, copy.deepcopy(step.value))
        case "test":
            if _get(holder, path) != step.value:
                raise _Missing
        case "copy" if source is not None:
            _add(holder, path, copy.deepcopy(_get(holder, source)))
        case "move" if source is not None:
            if path[: len(source)] == source != path:
                raise _Missing
            _add(holder, path, _remove(holder, source))


def _parent(holder: Body, path: tuple[str, ...]) -> tuple[Any, str]:
    """The object or list that contains the last part of a path, and that part."""
    parts = ("", *path)
    value: Any = holder
    for part in parts[:-1]:
        value = _child(value, part)
    return value, parts[-1]


def _child(value: Any, part: str) -> Any:
    if isinstance(value, dict) and part in value:
        return value[part]
    if isinstance(value, list):
        return value[_position(value, part)]
    raise _Missing


def _get(holder: Body, path: tuple[str, ...]) -> Any:
    parent, part = _parent(holder, path)
    if isinstance(parent, dict):
        return parent.get(part)
    return _child(parent, part)


def _replace(holder: Body, path: tuple[str, ...], value: Any) -> None:
    parent, part = _parent(holder, path)
    if isinstance(parent, list):
        parent[_position(parent, part)] = value
    else:
        _add(holder, path, value)


def _add(holder: Body, path: tuple[str, ...], value: Any) -> None:
    parent, part = _parent(holder, path)
    if isinstance(parent, dict):
        parent[part] = value
    elif isinstance(parent, list):
        end = len(parent)
        at = end if part == "-" else _position([*parent, None], part)
        parent.insert(at, value)
    else:
        raise _Missing


def _remove(holder: Body, path: tuple[str, ...]) -> Any:
    parent, part = _parent(holder, path)
    if isinstance(parent, dict) and part in parent:
        return parent.pop(part)
    if isinstance(parent, list):
        return parent.pop(_position(parent, part))
    raise _Missing


def _position(items: list[Any], part: str) -> int:
    if not _INDEX.fullmatch(part) or not -len(items) <= int(part) < len(items):
        raise _Missing
    # negative positions count from the end
    return int(part) % len(items)
