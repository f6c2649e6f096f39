"""No text makes a regular expression of the code slow: each takes time linear in the text.

Every expression is tried as its module uses it, with texts made from its own repetitions: what
leads to one, many of its rounds, and an end that does not fit.
"""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
LENGTH, FACTOR = 600, 4
#: Quadratic time is sixteen times as much; shorter times than this say nothing.
MOST_GROWTH, SHORTEST = 9, 0.004
#: Seconds that no linear expression takes for the shorter text.
TOO_LONG = 0.05
ENDS = ("", "\x00", "!", "a", "1")
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
CHARACTERS = "a1A-. \t_:/=,<\"'(é" + "".join(map(chr, range(0x300)))
USES: dict[str, Callable[[re.Pattern[str], str], object]] = {
    "compile": re.Pattern.fullmatch,
    "match": re.Pattern.match,
    "fullmatch": re.Pattern.fullmatch,
    "search": re.Pattern.search,
    "split": re.Pattern.split,
    "findall": re.Pattern.findall,
    "finditer": re.Pattern.findall,
    "sub": lambda pattern, text: pattern.sub("", text),
}
Found = tuple[str, str, str, int]


def expressions() -> Iterator[Found]:
    """(place, use, expression, flags) of each expression that is written in the code."""
    for package in ("apps", "schedweb"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if re.search(r"^import re$", path.read_text(), re.MULTILINE):
                yield from in_module(path)


def in_module(path: Path) -> Iterator[Found]:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    module, text = vars(importlib.import_module(name)), path.read_text()
    for constant, value in module.items():
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            uses = set(re.findall(rf"\b{constant}\.({'|'.join(USES)})\(", text))
            for use in sorted(uses) or ["compile"]:
                yield f"{name}.{constant}", use, value.pattern, value.flags
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {f"re.{use}" for use in USES}:
            try:
                pattern = eval(ast.unparse(node.args[0]), dict(module))
            except NameError:
                continue  # a variable of a function, tried with the constants that it gets
            if isinstance(pattern, str):
                yield f"{name}:{node.lineno}", ast.unparse(node.func)[3:], pattern, 0


def sample(items: Any) -> str:
    """A text that the parsed expression fits, apart from its assertions."""
    return "".join(sample_of(*item) for item in items)


def sample_of(code: Any, value: Any) -> str:
    if code is codes.LITERAL:
        return chr(value)
    if code in (codes.IN, codes.NOT_LITERAL, codes.ANY):
        one = parser.SubPattern(parser.State(), [(code, value)])
        one.state.str = ""
        return re._compiler.compile(one).search(CHARACTERS)[0]  # type: ignore[attr-defined]
    if code in REPEATS:
        return sample(value[2]) * max(value[0], 1)
    if code is codes.SUBPATTERN:
        return sample(value[3])
    if code is codes.BRANCH:
        return sample(value[1][0])
    return sample(value) if code is codes.ATOMIC_GROUP else ""


def repetitions(items: Any, before: str) -> Iterator[tuple[str, str]]:
    """(the text before, one round) of each long repetition."""
    for code, value in items:
        if code in REPEATS:
            if value[1] > 20:
                yield before, sample(value[2])
            yield from repetitions(value[2], before)
        elif code in (codes.SUBPATTERN, codes.ATOMIC_GROUP):
            yield from repetitions(value[3] if code is codes.SUBPATTERN else value, before)
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from repetitions(branch, before)
        before += sample_of(code, value)


def hostile(expression: str, flags: int) -> list[tuple[str, str]]:
    tree = list(parser.parse(expression, flags))
    return [*{*repetitions(tree, ""), ("", sample(tree)), ("", "a"), ("", "1"), ("", " ")}]


def seconds(use: str, pattern: re.Pattern[str], text: str) -> float:
    took = []
    for _ in range(3):
        began = time.thread_time()
        USES[use](pattern, text)
        took.append(time.thread_time() - began)
        if not SHORTEST < took[0] < TOO_LONG:
            break
    return min(took)


def growths(use: str, expression: str, flags: int) -> Iterator[tuple[str, float]]:
    """(text, growth): how many times as long a text takes that is four times as long."""
    pattern = re.compile(expression, flags)
    for before, part in hostile(expression, flags):
        for end in ENDS if part else ():
            short, long = (
                before + part * (length // len(part)) + end for length in (LENGTH, LENGTH * FACTOR)
            )
            took = seconds(use, pattern, short)
            if took > TOO_LONG:
                yield short, float("inf")
                return
            slow = seconds(use, pattern, long) if took > SHORTEST / 20 else 0.0
            yield short, slow / took if slow > SHORTEST else 0.0


@pytest.mark.parametrize(
    ("use", "expression"),
    [
        ("fullmatch", r"(?:(?:\d+\.?\d*|\.\d+)(?:s|m|h))+"),
        ("findall", r"([0-9]*\.?[0-9]+|[0-9]+\.)(h|m|s)"),
        ("search", r"\d+\s*(days|hours)"),
    ],
)
def test_an_expression_that_backtracks_is_noticed(use: str, expression: str) -> None:
    assert max(growth for _, growth in growths(use, expression, 0)) > MOST_GROWTH


def test_no_text_makes_an_expression_of_the_code_slow() -> None:
    found = {each[1:]: each[0] for each in expressions()}
    assert len(found) > 100
    slow = [
        f"{place} {use} {expression!r}: {text[:30]!r}… × {growth:.0f}"
        for (use, expression, flags), place in found.items()
        for text, growth in growths(use, expression, flags)
        if growth > MOST_GROWTH
    ]
    assert slow == []
