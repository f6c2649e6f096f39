"""Recorded calls of this API: the examples of its documentation.

The files in `examples/` have a list of calls for each operation, by method and path template:

    GET /clusters/{cluster}/queue:
    - title: All parts of the queue
      path: {cluster: lab}
      query: {limit: 2}
      status: 200
      response: …

`body` is the request's, as JSON or as text (`type`: its media type). The first call of an operation
is a success; the others have its path and its body unless they state their own. `response` (and
`response_type` if it is not JSON) is recorded: `tests/api/control/test_examples.py` sends every
call, unless it is `static`, to a real cluster and compares. A value such as
`$scheduled` is one of `values` in `common.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml

FOLDER: Final = Path(__file__).parent / "examples"
COMMON: Final = FOLDER / "common.yaml"

Call: TypeAlias = dict[str, Any]


@cache
def load_examples() -> dict[str, list[Call]]:
    """`METHOD /path/{template}` -> its calls, the first one a success."""
    by_operation: dict[str, list[Call]] = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        if path != COMMON:
            by_operation |= yaml.load(path.read_bytes(), yaml.CSafeLoader)
    return {
        operation: [complete(call, calls[0]) for call in calls]
        for operation, calls in by_operation.items()
    }


@cache
def load_common() -> dict[str, Any]:
    """`values` of the placeholders, and `errors` that every operation can answer with."""
    loaded: dict[str, Any] = yaml.load(COMMON.read_bytes(), yaml.CSafeLoader)
    return loaded


def complete(call: Call, first: Call) -> Call:
    """A call with the path and the body of the operation's first one, where it states none."""
    path = {**first.get("path", {}), **call.get("path", {})}
    inherited: Call = {name: first[name] for name in ("body", "type", "query") if name in first}
    return {**inherited, **call, "path": path}


def resolve(value: Any, values: Mapping[str, Any]) -> Any:
    """A value, or what the placeholder `$name` stands for; in lists and mappings as well."""
    match value:
        case str() if value.startswith("$"):
            return values.get(value[1:], value)
        case dict():
            return {name: resolve(each, values) for name, each in value.items()}
        case list():
            return [resolve(each, values) for each in value]
    return value
