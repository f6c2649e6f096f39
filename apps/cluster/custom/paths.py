"""The JSONPath expressions of CustomResourceDefinitions: `.spec.items[?(@.name=="a")].size`."""

from __future__ import annotations

import re
from typing import Any, Final

from apps.caching import cache_short

_STEP: Final = re.compile(
    r"\.?(?P<name>(?:[^.\[\]\\]|\\.)+)"
    r"|\[\?\(@\.(?P<key>[^=)\s]++)\s*+==\s*(?P<quote>['\"])(?P<value>.*?)(?P=quote)\)\]"
    r"|\[(?P<index>-?\d+)\]|\[(?P<all>\*)\]|\[['\"](?P<quoted>[^'\"]+)['\"]\]"
)


@cache_short(1024)
def parse(expression: str) -> tuple[tuple[str, str, str], ...]:
    """The steps of an expression: a form (field, filter, index, all), a name and a value.

    Raises ValueError for an invalid expression.
    """
    steps, at = [], 0
    text = expression.strip().strip("{}")
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            raise ValueError(f"invalid JSONPath: {expression}")
        at = match.end()
        name = match["name"] or match["quoted"]
        if name == "*":
            steps.append(("all", "", ""))
        elif name:
            steps.append(("field", name.replace("\\", ""), ""))
        elif match["key"]:
            steps.append(("filter", match["key"].strip(), match["value"]))
        elif match["all"]:
            steps.append(("all", "", ""))
        else:
            steps.append(("index", match["index"], ""))
    return tuple(steps)


def find(body: Any, expression: str) -> list[Any]:
    """The values that an expression finds in an object; empty where a field is missing."""
    values = [body]
    for form, name, wanted in parse(expression):
        values = [each for value in values for each in _step(value, form, name, wanted)]
    return values


def _step(value: Any, form: str, name: str, wanted: str) -> list[Any]:
    match form, value:
        case "field", dict():
            return [value[name]] if value.get(name) is not None else []
        case "filter", list():
            return [item for item in value if str(find(item, name)[:1] or [""]) == str([wanted])]
        case "index", list():
            return value[int(name) :][:1] if int(name) != -1 else value[-1:]
        case "all", list():
            return value
        case "all", dict():
            return list(value.values())
    return []


def assign(body: dict[str, Any], expression: str, value: Any) -> dict[str, Any]:
    """A copy of an object with a field set; for expressions that only have fields."""
    (_, name, _), *rest = parse(expression)
    if not rest:
        return {**body, name: value}
    inner = body.get(name)
    tail = "".join(f".{step[1]}" for step in rest)
    return {**body, name: assign(inner if isinstance(inner, dict) else {}, tail, value)}
