"""Columns of the first format, which had no version: a map of plain data, then one of arrays.

The oldest rows lack keys that were added to the map later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

#: The first byte of a MessagePack array of two; later formats start with a longer array.
_ARRAY_OF_TWO = 0x92
_NORMALIZED = "normalized/"
_FILTER = "filter"
_POST_FILTER = "postFilter"
#: Keys that the oldest rows lack, with their defaults.
_ADDED_LATER: dict[str, Any] = {
    "laps": (),
    "draws": (),
    "loaded_at": 0,
    "expected": (),
    "released": (),
    "undone": False,
    "permit_wait": None,
    "extender_calls": (),
    "weights": {},
    "claims": (),
    "combinations": None,
    "hint": None,
}


def is_first(data: bytes) -> bool:
    """Whether decompressed columns have the first format."""
    return data[0] == _ARRAY_OF_TWO


def values(data: bytes) -> dict[str, Any]:
    """The fields of a `codec.StoredDecision` by name, in the representation of this format."""
    plain, arrays = msgspec.msgpack.decode(data)
    plain = _ADDED_LATER | plain
    names, times = plain["laps"] or ((), ())
    return {
        **plain,
        "nominated_fast_path": plain["fast_path"],
        "nominated_node": plain["nominating"],
        "timed_plugins": names,
        "plugin_times": times,
        "post_filter": _post_filter(plain, arrays),
        "node_statuses": _verdicts(_FILTER, plain, arrays),
        "raw_scores": [arrays[plugin] for plugin in plain["weights"]],
        "normalized_scores": [arrays.get(_NORMALIZED + plugin) for plugin in plain["weights"]],
    }


def _post_filter(plain: Mapping[str, Any], arrays: Mapping[str, Any]) -> list[Any] | None:
    result = plain["post_filter"]
    if result is None:
        return None
    fields = [result[name] for name in ("candidates", "ties", "decided_by", "offset")]
    return [*fields, _verdicts(_POST_FILTER, plain, arrays)]


def _verdicts(key: str, plain: Mapping[str, Any], arrays: Mapping[str, Any]) -> list[Any] | None:
    if key not in arrays:
        return None
    *statuses, absent = plain[key]
    return [arrays[key], statuses, absent]
