"""The tables of the benchmarks, with the figures of the real scheduler beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from bench.results import format_number, format_spread, format_table

REAL = yaml.safe_load(Path(__file__).with_name("real.yaml").read_text(encoding="utf-8"))
#: the columns of the house's table: figure, header
HOUSE = {
    "pods": "pods",
    "pods_per_s": "pods/s",
    "seconds": "seconds",
    "p50_ms": "p50 ms",
    "p90_ms": "p90 ms",
    "p99_ms": "p99 ms",
    "mb": "MB",
}
#: the columns of processor time
WORKED = {
    "web_us": "web µs",
    "database_us": "database µs",
    "worker_us": "worker µs",
}
ROLES = ("web", "worker", "beat", "forks", "database")
#: when memory was measured
MOMENTS = {"rest": "at rest", "posts": "after {} POSTs", "lists": "after LISTs"}
CORE = (
    *("workload", "nodes", "pods", "pods/s", "p50 µs", "p99 µs", "processor µs"),
    *("real core, sampling", "ratio", "real core, all nodes", "ratio", "real, end to end"),
)


def core(entries: Iterable[Mapping[str, Any]], *, markdown: bool) -> str:
    """A row for each workload; the real scheduler's figures are for the original sizes."""
    return format_table(CORE, map(_core_row, entries), markdown=markdown)


def _core_row(entry: Mapping[str, Any]) -> list[str]:
    real = {} if entry["scaled"] else REAL["workloads"].get(entry["workload"], {})
    rate = entry["pods_per_s"]["median"]
    row = [entry["workload"], f"{entry['nodes']:,}"]
    row += [format_spread(entry[name]) for name in ("pods", "pods_per_s")]
    row += [format_number(entry[name]["median"]) for name in ("p50_us", "p99_us", "processor_us")]
    for kind in ("sampling", "all_nodes"):
        row += [f"{real[kind]:,}", format_number(rate / real[kind])] if kind in real else ["", ""]
    return [*row, format_range(real.get("end_to_end", []))]


def house(content: Mapping[str, Any], *, markdown: bool) -> str:
    """Two rows for each measurement: ours, and the real stack's lowest and highest results."""
    header = ["measurement", *HOUSE.values(), *WORKED.values(), "client", "other cores"]
    rows = []
    for name, entry in content["measurements"].items():
        if name != "memory":
            rows.append(_house_row(name, entry))
            if real := REAL["house"].get(name):
                cells = [format_range(real.get(figure, [])) for figure in HOUSE]
                rows.append(["- the real stack", *cells, *[""] * (len(WORKED) + 2)])
    return format_table(header, rows, markdown=markdown)


def _house_row(name: str, entry: Mapping[str, Any]) -> list[str]:
    cells = [format_spread(entry[figure]) if figure in entry else "" for figure in HOUSE]
    cells += [
        format_number(entry[figure]["median"]) if figure in entry else "" for figure in WORKED
    ]
    share = f"{entry['client_share']['median']:.0%}" if "client_share" in entry else ""
    others = max(load["other_cores"] for load in entry["loads"])
    return [name, *cells, share, f"{others:.1f}"]


def memory(content: Mapping[str, Any], *, markdown: bool) -> str:
    """A row for each role that was measured: resident and proportional memory at each moment."""
    entry = content["measurements"].get("memory")
    if entry is None:
        return ""
    posts = f"{entry['pods']['median']:,.0f}"
    header = ["memory, MB: RSS, PSS", *(title.format(posts) for title in MOMENTS.values())]
    rows = []
    # earlier measurements do not have every role
    for role in (each for each in ROLES if f"rest_{each}_rss_mb" in entry):
        cells = [
            ", ".join(format_spread(entry[f"{moment}_{role}_{kind}_mb"]) for kind in ("rss", "pss"))
            for moment in MOMENTS
        ]
        rows.append([role, *cells])
    return format_table(header, rows, markdown=markdown)


def format_range(values: Sequence[float]) -> str:
    """The lowest and the highest value; "" without values."""
    shown = dict.fromkeys(f"{value:,g}" for value in (min(values), max(values))) if values else {}
    return "–".join(shown)
