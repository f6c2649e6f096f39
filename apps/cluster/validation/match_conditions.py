"""The conditions that policies and webhooks have beside their rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    duplicate,
    invalid,
    required,
    too_many,
)
from apps.cluster.validation.policy_programs import Expression

_MOST: Final = 64


def validate_conditions(
    conditions: Sequence[Mapping[str, Any]], compiled: Sequence[Expression], path: str
) -> Causes:
    """`matchConditions` at a path, with their expressions."""
    if len(conditions) > _MOST:
        yield too_many(path, len(conditions), _MOST)
        return
    seen: set[str] = set()
    for index, (given, expression) in enumerate(zip(conditions, compiled, strict=True)):
        at, name = f"{path}[{index}]", given.get("name", "")
        if not expression.text:
            yield required(f"{at}.expression")
        else:
            yield from validate_expression(expression, f"{at}.expression")
        if not name:
            yield required(f"{at}.name")
        else:
            yield from all_invalid(f"{at}.name", name, names.qualified_name(name))
            if name in seen:
                yield duplicate(f"{at}.name", name)
        seen.add(name)


def validate_expression(expression: Expression, path: str) -> Causes:
    """An expression has to compile."""
    if expression.program is None:
        yield invalid(path, expression.text, expression.problem)
