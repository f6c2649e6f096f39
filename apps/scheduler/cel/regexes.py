"""Regular expressions in RE2's syntax and time: linear in the text, whatever the expression.

The library contains RE2, but only tells whether a text matches. What matches is found by Python's
own engine, which gets no expression that makes it slow.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from cel_expr_python import cel  # type: ignore[import-untyped]

from apps.scheduler.cel.values import CelError

#: an expression that only backtracking makes slow is not given to Python's own engine
_SLOW = re.compile(r"[*+}]\)[*+{]")


@cache
def _program() -> Any:
    text = cel.Type.STRING
    environment = cel.NewEnv(variables={"text": text, "pattern": text})
    return environment.compile("text.matches(pattern)")


def matches(text: str, pattern: str) -> bool | CelError:
    """Whether the pattern is found in the text; CelError if it is no regular expression."""
    found = _program().eval(data={"text": text, "pattern": pattern})
    if found.type() == cel.Type.ERROR:
        return CelError(f"error parsing regexp: {found.value()}")
    return bool(found.value())


def find_all(text: str, pattern: str, limit: int) -> list[str] | CelError:
    """The parts of the text that match, from the left, at most ``limit`` unless negative."""
    present = matches(text, pattern)
    if isinstance(present, CelError):
        return present
    if not present or limit == 0:
        return []
    if _SLOW.search(pattern):
        return CelError(f"regular expression is not supported by find: {pattern}")
    found = [each.group() for each in re.finditer(pattern.replace(r"\z", r"\Z"), text, re.ASCII)]
    return found if limit < 0 else found[:limit]
