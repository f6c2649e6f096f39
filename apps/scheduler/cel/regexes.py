"""Regular expressions in RE2's syntax and time: linear in the text, whatever the expression.

The library contains RE2, but only tells whether a text matches. What matches is found by Python's
own engine, which gets no expression that could make it slow in a text of this length: it holds
the interpreter, and so the whole process, until it ends.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from cel_expr_python import cel  # type: ignore[import-untyped]

from apps.scheduler.cel.values import CelError

#: how often Python's own engine may step
_MOST_STEPS: Final = 100_000_000
_ESCAPES: Final = re.compile(r"\\.", re.DOTALL)
_CLASSES: Final = re.compile(r"\[\^?\]?[^\]]*\]")
_REPEATED_GROUP: Final = re.compile(r"\)[*+{]")
_REPEATS: Final = re.compile(r"[*+{]")
_CHOICES: Final = re.compile(r"[|?]")


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
    unsupported = CelError(f"regular expression is not supported by find: {pattern}")
    if _most_steps(pattern, len(text)) > _MOST_STEPS:
        return unsupported
    try:
        compiled = re.compile(pattern.replace(r"\z", r"\Z"), re.ASCII)
    except re.error:
        return unsupported
    found = [each.group() for each in compiled.finditer(text)]
    return found if limit < 0 else found[:limit]


def _most_steps(pattern: str, length: int) -> float:
    """How often an engine that backtracks may step, by the repetitions and choices."""
    bare = _CLASSES.sub("x", _ESCAPES.sub("x", pattern)).replace("(?", "(")
    repeats, choices = len(_REPEATS.findall(bare)), len(_CHOICES.findall(bare))
    if _REPEATED_GROUP.search(bare) and repeats + choices > 1:
        return float("inf")
    return float(length + 1) ** (1 + min(repeats, 20)) * 2.0 ** min(choices, 100)
