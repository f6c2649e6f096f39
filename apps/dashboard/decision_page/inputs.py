"""The inputs of scores as tables: details with the same figures are the rows of one table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from apps.scheduler.explaining.scores import ScoreInputs
from apps.scheduler.framework.explanation import Detail
from apps.studies.explanations.scores import NodeInputs

#: Values of a list or an object that are shown; the API has them all.
_LISTED = 12
#: Characters of a table that fits beside another one.
_NARROW = 84
_NUMBER = re.compile(r"[−-]?\d[\d.,]*( %|[A-Za-z]{0,2})?")
_INNER_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class InputColumn:
    label: str
    #: numbers are aligned at their end
    is_number: bool


@dataclass(frozen=True, slots=True)
class InputTable:
    """Details with the same figures; a table without columns is one sentence."""

    columns: Sequence[InputColumn]
    rows: Sequence[Sequence[str]]
    sentence: str = ""

    @property
    def width(self) -> int:
        """In characters, with the space between columns."""
        lines = [[column.label for column in self.columns], *self.rows]
        return sum(max(map(len, cells)) + 2 for cells in zip(*lines, strict=True))


@dataclass(frozen=True, slots=True)
class ScoreBlock:
    """One score: the tables of its inputs, and the formulas below each other."""

    score: ScoreInputs
    tables: Sequence[InputTable]
    #: (what is computed, the computation)
    formulas: Sequence[tuple[str, str]]
    #: all details in words, with what is too long for a table
    words: Sequence[tuple[str, str]]

    @property
    def is_wide(self) -> bool:
        """Whether a table needs the whole width of the page."""
        return any(table.width > _NARROW for table in self.tables)


@dataclass(frozen=True, slots=True)
class NodeBlocks:
    """A node with its scores; `gap` says why no plugin has inputs."""

    node: NodeInputs
    blocks: Sequence[ScoreBlock]
    gap: str


def node_blocks(inputs: NodeInputs) -> NodeBlocks:
    """What the page shows of a node."""
    gaps = {score.gap for score in inputs.scores}
    common = gaps.pop() if len(gaps) == 1 else ""
    return NodeBlocks(inputs, [score_block(score) for score in inputs.scores], common)


def score_block(score: ScoreInputs) -> ScoreBlock:
    """What the page shows of a score."""
    *inputs, result = score.inputs or (None,)
    details = [each for each in inputs if each is not None]
    formulas = [("Raw", result.sentence)] if result is not None else []
    for detail in score.normalization:
        if "greatest" in detail.figures:
            formulas.append(("Range", _describe_range(detail.figures)))
        formulas.append(("Normalized", detail.sentence))
    formulas.append(("Points", f"{score.normalized} × weight {score.weight} = {score.weighted:,}"))
    words = [(detail.sentence, _long_figures(detail)) for detail in details]
    return ScoreBlock(score, _tables(details), formulas, words)


def _describe_range(figures: Mapping[str, Any]) -> str:
    least, greatest = _cell(figures.get("smallest", 0)), _cell(figures["greatest"])
    return f"raw scores of the feasible nodes are from {least} to {greatest}"


def _tables(details: Sequence[Detail]) -> list[InputTable]:
    tables = []
    for keys, group in groupby(details, key=_short_keys):
        rows = list(group)
        if len(keys) < 2:
            tables += [InputTable((), (), detail.sentence) for detail in rows]
        else:
            tables.append(_table(keys, rows))
    return tables


def _table(keys: Sequence[str], details: Sequence[Detail]) -> InputTable:
    cells = [[_cell(detail.figures[key]) for key in keys] for detail in details]
    columns = [
        InputColumn(_label(key), all(_NUMBER.fullmatch(row[at]) for row in cells))
        for at, key in enumerate(keys)
    ]
    return InputTable(columns, cells)


def _short_keys(detail: Detail) -> tuple[str, ...]:
    return tuple(key for key, value in detail.figures.items() if not _is_long(value))


def _is_long(value: Any) -> bool:
    return isinstance(value, Mapping | Sequence) and not isinstance(value, str)


def _long_figures(detail: Detail) -> str:
    """ "Pods by value: a 3, b 2"."""
    return "; ".join(
        f"{_label(key)}: {_list(value)}"
        for key, value in detail.figures.items()
        if _is_long(value) and value
    )


def _list(value: Any) -> str:
    items = (
        [f"{name or '(empty)'} {count}" for name, count in value.items()]
        if isinstance(value, Mapping)
        else [_cell(each) if not _is_long(each) else f"({_list(each)})" for each in value]
    )
    more = f" and {len(items) - _LISTED:,} more" if len(items) > _LISTED else ""
    return ", ".join(items[:_LISTED]) + more


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        # as many digits as in the sentences, so that a score can be computed from the cells
        return f"{value:.7f}".rstrip("0").rstrip(".").replace("-", "−")
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    return str(value)


def _label(key: str) -> str:
    """A figure's name as a heading: "podsByValue" is "Pods by value"."""
    words = _INNER_CAPITAL.sub(" ", key)
    return words[:1].upper() + words[1:].lower()
