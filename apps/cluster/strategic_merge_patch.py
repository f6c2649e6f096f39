"""Strategic merge patch: a merge patch that merges lists whose items have a key.

The OpenAPI definitions specify which lists merge, and by which key
(`x-kubernetes-patch-strategy`, `x-kubernetes-patch-merge-key`).
"""

from __future__ import annotations

from typing import Any

from apps.cluster.errors import BadRequest
from apps.cluster.schema.definitions import PatchField, patch_field

Body = dict[str, Any]

_PATCH = "$patch"
_RETAIN_KEYS = "$retainKeys"
_DELETE_ITEMS = "$deleteFromPrimitiveList/"
_SET_ORDER = "$setElementOrder/"


def merge(body: Body, patch: Body, definition: str) -> Body:
    """`body`, an object of `definition`, after the patch; BadRequest for an invalid directive."""
    match patch.get(_PATCH, "merge"):
        case "replace":
            return {name: value for name, value in patch.items() if name != _PATCH}
        case "delete":
            return {}
        case "merge":
            pass
        case directive:
            raise BadRequest(f"unknown patch type: {directive} in map: {patch}")
    merged = _retain_keys(body, patch)
    for name, value in patch.items():
        if name.startswith("$"):
            continue
        field = patch_field(definition, name)
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, dict):
            if (inner := _merge_map(merged.get(name), value, field)) is not None:
                merged[name] = inner
        elif isinstance(value, list):
            merged[name] = _merge_list(merged.get(name), value, field, name, patch)
        else:
            merged[name] = value
    _apply_list_directives(merged, patch, definition)
    return merged


def _retain_keys(body: Body, patch: Body) -> Body:
    """A copy of `body`, with only the keys in `$retainKeys` if that is specified."""
    if _RETAIN_KEYS not in patch:
        return dict(body)
    keys = _directive_list(patch, _RETAIN_KEYS, "retainKeys")
    if any(name not in keys for name in patch if not name.startswith("$")):
        raise BadRequest("patch content doesn't match retainKeys list")
    return {name: value for name, value in body.items() if name in keys}


def _merge_map(old: Any, patch: Body, field: PatchField) -> Any:
    if field.replaces and _PATCH not in patch:
        return patch
    if old is None and _PATCH in patch:
        # there is nothing that the directive could be about
        return None
    return merge(old if isinstance(old, dict) else {}, patch, field.definition)


def _merge_list(
    old: Any, patch: list[Any], field: PatchField, name: str, directives: Body
) -> list[Any]:
    if not field.merges:
        return patch
    present = old if isinstance(old, list) else []
    if not field.merge_key:
        merged = [*present, *(item for item in patch if item not in present)]
        return _sort_items(merged, patch, present, "")
    if any(not isinstance(item, dict) for item in patch):
        raise BadRequest(f"error decoding patch: the items of {name} must be objects")
    if any(item.get(_PATCH) == "replace" for item in patch):
        return [item for item in patch if _PATCH not in item]
    items = [item for item in present if isinstance(item, dict)]
    merged = _merge_items(items, patch, field, name)
    kept = [item for item in patch if item.get(_PATCH) != "delete"]
    return _sort_items(merged, kept, present, field.merge_key)


def _merge_items(
    present: list[Body], patch: list[Body], field: PatchField, name: str
) -> list[Body]:
    key = field.merge_key
    merged = list(present)
    for change in patch:
        if change.get(key) is None:
            raise BadRequest(
                f"error decoding patch: an item of {name} does not contain declared merge key: "
                f"{key}"
            )
        at = next((i for i, item in enumerate(merged) if item.get(key) == change[key]), None)
        if change.get(_PATCH) == "delete":
            merged = [item for item in merged if item.get(key) != change[key]]
        elif at is None:
            merged.append(merge({}, change, field.definition))
        else:
            merged[at] = merge(merged[at], change, field.definition)
    return merged


def _apply_list_directives(merged: Body, patch: Body, definition: str) -> None:
    for directive in patch:
        if directive.startswith(_DELETE_ITEMS):
            name = directive.removeprefix(_DELETE_ITEMS)
            deleted_items = _directive_list(patch, directive, "primitive list")
            if isinstance(merged.get(name), list):
                merged[name] = [item for item in merged[name] if item not in deleted_items]
        elif directive.startswith(_SET_ORDER):
            name = directive.removeprefix(_SET_ORDER)
            order = _directive_list(patch, directive, "setElementOrder list")
            key = patch_field(definition, name).merge_key
            _check_order(patch.get(name), order, key)
            if isinstance(merged.get(name), list):
                merged[name] = _sort_items(merged[name], order, merged[name], key)
        elif directive.startswith("$") and directive not in (_PATCH, _RETAIN_KEYS):
            raise BadRequest(f"error decoding patch: unknown directive {directive}")


def _sort_items(merged: list[Any], order: list[Any], present: list[Any], key: str) -> list[Any]:
    """`merged` with the items listed in `order` in that order.

    Every other item stays before the first listed item that it preceded in `present`, or moves to
    the end if there is none.
    """
    wanted, before = _keys(order, key), _keys(present, key)
    named = sorted(
        (item for item in merged if _key(item, key) in wanted),
        key=lambda item: wanted.index(_key(item, key)),
    )
    others = [item for item in merged if _key(item, key) not in wanted]
    result: list[Any] = []
    for item in named:
        while others and _precedes(_key(others[0], key), _key(item, key), before):
            result.append(others.pop(0))
        result.append(item)
    return result + others


def _precedes(left: Any, right: Any, order: list[Any]) -> bool:
    return left in order and right in order and order.index(left) < order.index(right)


def _keys(items: list[Any], key: str) -> list[Any]:
    return [_key(item, key) for item in items]


def _key(item: Any, key: str) -> Any:
    return item.get(key) if key and isinstance(item, dict) else item


def _check_order(items: Any, order: list[Any], key: str) -> None:
    """The items of the patch must occur in `order`, which may have others between them."""
    if not isinstance(items, list):
        return
    left = iter(_keys(order, key))
    for item in items:
        deleted = isinstance(item, dict) and item.get(_PATCH) == "delete"
        if not deleted and _key(item, key) not in left:
            raise BadRequest(
                f"The order in patch list:\n{items}\n doesn't match {_SET_ORDER[:-1]} list:\n"
                f"{order}\n"
            )


def _directive_list(patch: Body, directive: str, what: str) -> list[Any]:
    value = patch[directive]
    if not isinstance(value, list):
        raise BadRequest(f"Invalid patch format of {what}")
    return value
