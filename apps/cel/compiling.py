"""What the compiler says about a parsed expression, in the form of Kubernetes' messages."""

from __future__ import annotations

from typing import Final

from apps.cel.checking import LISTS, Checked, Environment, check_types
from apps.cel.literals import check_literals
from apps.cel.tree import Expr
from apps.cel.types import ANY, BOOL, DYN

_MOST_ERRORS: Final = 100
#: below a character that takes more than one byte
_WIDE_DOT, _WIDE_MARK = "\uff0e", "\uff3e"


def check_selector(tree: Expr, source: str, environment: Environment) -> tuple[str, Checked]:
    """Why the compiler refuses the expression, "" if it is a selector; and its types."""
    problem, checked = check_expression(tree, source, environment)
    if problem:
        return problem, checked
    result = checked.types[tree.id]
    if result in (BOOL, ANY) or (result == DYN and environment is LISTS):
        return "", checked
    return f"must evaluate to bool or the unknown type, not {result.full_name}", checked


def check_expression(tree: Expr, source: str, environment: Environment) -> tuple[str, Checked]:
    """Why the compiler refuses the expression, "" if it does not; and its types."""
    checked = check_types(tree, environment)
    problems = sorted(checked.problems or check_literals(tree, checked), key=lambda each: each[0])
    return "compilation failed: " + _lines(problems, source) if problems else "", checked


def _lines(problems: list[tuple[int, str]], source: str) -> str:
    lines = [_line(source, offset, text) for offset, text in problems[:_MOST_ERRORS]]
    if len(problems) > _MOST_ERRORS:
        lines.append(f"{len(problems) - _MOST_ERRORS} more errors were truncated")
    return "\n".join(lines)


def _line(source: str, offset: int, text: str) -> str:
    row = source.count("\n", 0, offset)
    start = source.rfind("\n", 0, offset) + 1
    line = source[start:].partition("\n")[0].replace("\t", " ")
    column = offset - start
    dots = "".join("." if each.isascii() else _WIDE_DOT for each in line[:column])
    mark = "^" if line[column : column + 1].isascii() else _WIDE_MARK
    return f"ERROR: <input>:{row + 1}:{column + 1}: {text}\n | {line}\n | {dots}{mark}"
