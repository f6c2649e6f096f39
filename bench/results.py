"""Several runs of one measurement as medians with their spread, JSON and text tables."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

#: one run: figure -> value
Figures = Mapping[str, float]


class BenchmarkError(Exception):
    """A measurement did not do what it was asked to do, so its figures mean nothing."""


def combine(runs: Sequence[Figures]) -> dict[str, dict[str, float]]:
    """Figure -> its median, lowest and highest value over the runs."""
    return {
        name: {
            "median": round_figure(statistics.median(run[name] for run in runs)),
            "min": round_figure(min(run[name] for run in runs)),
            "max": round_figure(max(run[name] for run in runs)),
        }
        for name in runs[0]
    }


def percentile(values: Iterable[float], percent: float) -> float:
    """The value that `percent` of all values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[round((len(ordered) - 1) * percent / 100)]


def write(file: Path, content: Mapping[str, Any]) -> None:
    """Write JSON, and create the folder if needed."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def format_number(value: float) -> str:
    """Whole numbers from 100 on, one decimal below: 1,234, 56.7, 8.9, 20."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.1f}"


def format_spread(figure: Mapping[str, float]) -> str:
    """The median, with the lowest and the highest value if they differ."""
    low, middle, high = (format_number(figure[name]) for name in ("min", "median", "max"))
    return middle if low == high else f"{middle} ({low}–{high})"


def format_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, markdown: bool) -> str:
    """A table of Markdown, or one aligned for a terminal; the first column is text."""
    rows = [list(header), *map(list, rows)]
    if markdown:
        rows.insert(1, ["---"] * len(header))
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def round_figure(value: float) -> float:
    """Four significant digits at most, which is more than a measurement has."""
    return value if isinstance(value, int) else float(f"{value:.4g}")
