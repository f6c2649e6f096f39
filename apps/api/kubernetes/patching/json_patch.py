"""JSON patch, RFC 6902."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from typing import Any

from apps.api.kubernetes.errors import UnprocessablePatch
from apps.cluster.errors import BadRequest, RequestEntityTooLarge

Body = dict[str, Any]

#: The limit of the API server.
_MAX_STEPS = 10_000
_NEEDS_VALUE = frozenset({"add", "replace", "test"})
_NEEDS_FROM = frozenset({"move", "copy"})
_STEPS = frozenset({"remove", *_NEEDS_VALUE, *_NEEDS_FROM})
_INDEX = re.compile(r"0|[1-9]\d{0,8}", re.ASCII)


@dataclass(frozen=True, slots=True)
class PatchStep:
    """One step of a patch; `path` and `source` are the parts of JSON pointers."""

    op: str
    path: tuple[str, ...]
    source: tuple[str, ...] = ()
    value: Any = None


def read(patch: Any) -> list[PatchStep]:
    """The steps of a patch; BadRequest for an invalid step."""
    if not isinstance(patch, list):
        raise BadRequest("error decoding patch: a JSON patch is a list of operations")
    if len(patch) > _MAX_STEPS:
        raise RequestEntityTooLarge(
            f"The allowed maximum operations in a JSON patch is {_MAX_STEPS}, got {len(patch)}"
        )
    return [_read_step(step, index) for index, step in enumerate(patch)]


def apply(body: Body, steps: list[PatchStep]) -> Body:
    """`body` after all steps; UnprocessablePatch if one of them does not apply."""
    holder = {"": copy.deepcopy(body)}
    for step in steps:
        _apply(holder, step)
    changed = holder.get("")
    if not isinstance(changed, dict):
        raise UnprocessablePatch("the result of the patch is not an object")
    return changed


def _read_step(step: Any, index: int) -> PatchStep:
    if not isinstance(step, dict) or step.get("op") not in _STEPS:
        raise BadRequest(f"error decoding patch: operation {index} has no known op")
    op = step["op"]
    if op in _NEEDS_VALUE and "value" not in step:
        raise BadRequest(f"error decoding patch: operation {index} ({op}) has no value")
    source = _pointer(step.get("from"), index) if op in _NEEDS_FROM else ()
    return PatchStep(op, _pointer(step.get("path"), index), source, step.get("value"))


def _pointer(text: Any, index: int) -> tuple[str, ...]:
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise BadRequest(f"error decoding patch: operation {index} has an invalid path")
    parts = text.split("/")[1:]
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)


def _apply(holder: Body, step: PatchStep) -> None:
    match step.op:
        case "add":
            _add(holder, step.path, copy.deepcopy(step.value))
        case "remove":
            _remove(holder, step.path)
        case "replace":
            _remove(holder, step.path)
            _add(holder, step.path, copy.deepcopy(step.value))
        case "test":
            if _get(holder, step.path) != step.value:
                raise _not_applicable(step.path, "does not have the tested value")
        case "copy":
            _add(holder, step.path, copy.deepcopy(_get(holder, step.source)))
        case "move":
            if step.path[: len(step.source)] == step.source != step.path:
                raise _not_applicable(step.path, "is inside the moved value")
            _add(holder, step.path, _remove(holder, step.source))


def _parent(holder: Body, path: tuple[str, ...]) -> tuple[Any, str]:
    """The object or list that contains the last part of a path, and that part."""
    parts = ("", *path)
    value: Any = holder
    for depth, part in enumerate(parts[:-1]):
        value = _child(value, part, path[:depth])
    return value, parts[-1]


def _child(value: Any, part: str, path: tuple[str, ...]) -> Any:
    if isinstance(value, dict) and part in value:
        return value[part]
    if isinstance(value, list):
        return value[_position(value, part, path)]
    raise _not_applicable((*path, part), "does not exist")


def _get(holder: Body, path: tuple[str, ...]) -> Any:
    parent, part = _parent(holder, path)
    return _child(parent, part, path[:-1])


def _add(holder: Body, path: tuple[str, ...], value: Any) -> None:
    parent, part = _parent(holder, path)
    if isinstance(parent, dict):
        parent[part] = value
    elif isinstance(parent, list):
        end = len(parent)
        at = end if part == "-" else _position([*parent, None], part, path)
        parent.insert(at, value)
    else:
        raise _not_applicable(path, "is inside a scalar value")


def _remove(holder: Body, path: tuple[str, ...]) -> Any:
    parent, part = _parent(holder, path)
    if isinstance(parent, dict) and part in parent:
        return parent.pop(part)
    if isinstance(parent, list):
        return parent.pop(_position(parent, part, path))
    raise _not_applicable(path, "does not exist")


def _position(items: list[Any], part: str, path: tuple[str, ...]) -> int:
    if not _INDEX.fullmatch(part) or int(part) >= len(items):
        raise _not_applicable(path, f"has no position {part}")
    return int(part)


def _not_applicable(path: tuple[str, ...], why: str) -> UnprocessablePatch:
    return UnprocessablePatch(f"/{'/'.join(path)} {why}")
