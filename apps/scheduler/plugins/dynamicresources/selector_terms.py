"""Which term of a selector is false for a device."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from apps.cel.checking import Environment
from apps.cel.selector import CompileProblem, compile_selector
from apps.cel.values import CelError
from apps.scheduler.objects import Device
from apps.scheduler.plugins.helper.device_rows import DeviceRows

_QUOTES = "\"'"
_OPENING, _CLOSING = "([{", ")]}"


def failing_term(rows: DeviceRows, expression: str, driver: str, device: Device) -> str:
    """The first term of a conjunction that is not true; the whole expression if it is none.

    "" if the selector matches. An error is part of the text.
    """
    try:
        if rows.ask(expression, driver, device) is True:
            return ""
        for term in split_terms(expression, rows.environment):
            answer = rows.ask(term, driver, device)
            if isinstance(answer, CelError):
                return f"{term} ({answer.text})"
            if not answer:
                return term
    except CompileProblem as problem:
        return f"{expression} ({problem})"
    return " ".join(expression.split())


@lru_cache(maxsize=4_096)
def split_terms(expression: str, environment: Environment) -> tuple[str, ...]:
    """The operands of the top-level ``&&``, if each is a selector of its own."""
    terms = tuple(" ".join(term.split()) for term in _split(expression))
    try:
        for term in terms:
            compile_selector(term, environment)
    except CompileProblem:
        return (" ".join(expression.split()),)
    return terms


def _split(expression: str) -> Iterator[str]:
    """The text between ``&&`` outside of brackets and strings; all of it if ``||`` or ``?`` is."""
    depth, start, position, quote = 0, 0, 0, ""
    parts = []
    while position < len(expression):
        character = expression[position]
        if quote:
            position += character == "\\"
            quote = "" if character == quote else quote
        elif character in _QUOTES:
            quote = character
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif depth == 0 and (character == "?" or expression.startswith("||", position)):
            yield expression
            return
        elif depth == 0 and expression.startswith("&&", position):
            parts.append(expression[start:position])
            position += 1
            start = position + 1
        position += 1
    yield from (*parts, expression[start:])
