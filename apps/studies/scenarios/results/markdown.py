"""Results as Markdown, for the comment of a CI system on a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apps.scheduler.config.durations import go_duration

Body = Mapping[str, Any]


def write_markdown(results: Sequence[Body]) -> str:
    """A heading, a table with a row for each run, and what failed; `results` are presented."""
    runs = [(result["name"], run) for result in results for run in result["runs"]]
    failed = sum(not run["passed"] for _, run in runs)
    title = f"{failed} of {len(runs)} runs failed" if failed else f"All {len(runs)} runs passed"
    lines = [f"### Scheduling: {title}", "", *_table(runs)]
    for name, run in runs:
        if not run["passed"]:
            lines += ["", f"**{_cell(name)} ({_cell(run['name'])})**", ""]
            lines += [
                f"- {_cell(each['name'])}: {_cell(each['message'])}"
                for each in run["expectations"]
                if not each["met"]
            ]
    return "\n".join(lines) + "\n"


def _table(runs: Sequence[tuple[str, Body]]) -> Iterator[str]:
    yield "| scenario | run | | bound | pending | preempted | evicted | waited p50 | p99 | cpu |"
    yield "|---|---|---|--:|--:|--:|--:|--:|--:|--:|"
    for name, run in runs:
        figures = run["figures"]
        counts = [f"{figures[key]:,}" for key in ("bound", "pending", "preempted", "evicted")]
        waited = [_duration(figures[key]) for key in ("waited_p50", "waited_p99")]
        sign = "✅" if run["passed"] else "❌"
        cells = [_cell(name), _cell(run["name"]), sign, *counts, *waited]
        yield f"| {' | '.join(cells)} | {figures['cpu_utilization']:.0%} |"


def _duration(seconds: float | None) -> str:
    return "–" if seconds is None else go_duration(round(seconds, 3))


def _cell(text: str) -> str:
    """Text that is no markup of a table, a link or an element."""
    for character in "\\`*_[]<>|":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split())
