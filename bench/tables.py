"""The tables of the benchmarks, with the figures of the real scheduler beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from bench.results import format_number, format_spread, format_table

REAL = yaml.safe_load(Path(__file__).with_name("real.yaml").read_text(encoding="utf-8"))
CORE = (
    *("workload", "nodes", "pods/s", "p50 µs", "p99 µs", "processor µs"),
    *("real core, sampling", "ratio", "real core, all nodes", "ratio", "real, end to end"),
)


def core(entries: Iterable[Mapping[str, Any]], *, markdown: bool) -> str:
    """A row for each workload; the real scheduler's figures are for the original sizes."""
    return format_table(CORE, map(_core_row, entries), markdown=markdown)


def _core_row(entry: Mapping[str, Any]) -> list[str]:
    real = {} if entry["scaled"] else REAL["workloads"].get(entry["workload"], {})
    rate = entry["pods_per_s"]["median"]
    row = [entry["workload"], f"{entry['nodes']:,}", format_spread(entry["pods_per_s"])]
    row += [format_number(entry[name]["median"]) for name in ("p50_us", "p99_us", "processor_us")]
    for kind in ("sampling", "all_nodes"):
        row += [f"{real[kind]:,}", format_number(rate / real[kind])] if kind in real else ["", ""]
    return [*row, format_range(real.get("end_to_end", []))]


def format_range(values: Sequence[float]) -> str:
    """The lowest and the highest value; "" without values."""
    shown = dict.fromkeys(f"{value:,g}" for value in (min(values), max(values))) if values else {}
    return "–".join(shown)
