"""Regular expressions in RE2's syntax and time: linear in the text, whatever the expression.

Kubernetes reads them with Go's regexp package, whose syntax is RE2's. Everything that a user
writes as a regular expression is matched here, and never by Python's engine, which backtracks.
RE2 is linear in the product of text and expression; that is counted as effort, and bounded.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import re2

from apps.cel.effort import CostExceeded, spend
from apps.cel.values import CelError

#: Longer ones are refused: the time to compile one grows faster than its length.
_LONGEST: Final = 4_000
#: Bytes that a compiled expression may take, with its cache of states.
_MEMORY: Final = 2 << 20
#: Steps for one text, about 2 s in the worst case; the interpreter is not held meanwhile.
_MOST_STEPS: Final = 25_000_000
#: Seconds in which as much is done as for one element.
_ELEMENT_SECONDS: Final = 1e-6
_GO_ERRORS: Final = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "trailing \\": "trailing backslash at end of expression",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}
#: What RE2 reads and Go does not: a byte, which may be part of a character.
_ESCAPES: Final = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.", re.DOTALL)
_BYTE: Final = r"\C"
_TOO_LARGE: Final = "error parsing regexp: expression too large"


def problem_of(pattern: str) -> str:
    """What is wrong with a regular expression, in the words of Go; "" for a valid one."""
    compiled = _compile(pattern)
    return compiled if isinstance(compiled, str) else ""


def matches(text: str, pattern: str) -> bool | CelError:
    """Whether the pattern is found in the text; raises CelError if it is no regular expression.

    CostExceeded if that could take seconds, or if the effort is spent.
    """
    compiled = _compile(pattern)
    if isinstance(compiled, str):
        return CelError(compiled)
    return next(_spans(compiled, text), None) is not None


def find_all(text: str, pattern: str, limit: int) -> list[str] | CelError:
    """The parts of the text that match, from the left, at most ``limit`` unless negative."""
    compiled = _compile(pattern)
    if isinstance(compiled, str):
        return CelError(f"Illegal regex: {compiled}")
    texts: list[str] = []
    end = -1
    for start, stop in _spans(compiled, text):
        if len(texts) == limit:
            break
        # Go finds nothing empty where the part before has ended.
        if stop > start or start != end:
            texts.append(text[start:stop])
        end = stop
    return texts


def _spans(compiled: Any, text: str) -> Iterator[tuple[int, int]]:
    """Where the text matches. Every search may read the rest of the text."""
    left = _MOST_STEPS
    matches = compiled.finditer(text)
    at = 0
    while True:
        left -= compiled.programsize * (len(text) - at)
        if left < 0:
            raise CostExceeded
        began = time.thread_time()
        match = next(matches, None)
        _spend_since(began)
        if match is None:
            return
        at = match.end()
        yield match.span()


def _compile(pattern: str) -> Any:
    """The compiled regular expression, or what is wrong with it."""
    began = time.thread_time()
    compiled = _cached(pattern)
    _spend_since(began)
    return compiled


@lru_cache(maxsize=64)
def _cached(pattern: str) -> Any:
    if len(pattern) > _LONGEST:
        return _TOO_LARGE
    if _BYTE in _ESCAPES.findall(pattern):
        return _in_words_of_go(f"invalid escape sequence: {_BYTE}")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as wrong:
        return _in_words_of_go(wrong.args[0].decode())
    finally:
        re2.purge()  # its cache keeps more, and so more memory


def _in_words_of_go(refusal: str) -> str:
    problem, _, part = refusal.partition(": ")
    if problem.startswith("pattern too large"):
        return _TOO_LARGE
    return f"error parsing regexp: {_GO_ERRORS.get(problem, problem)}: `{part}`"


def _spend_since(began: float) -> None:
    spend(int((time.thread_time() - began) / _ELEMENT_SECONDS))
