"""`make bench-plots`: docs/performance.md shows the results that are next to it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from bench import plots, publish, results, tables
from bench.workloads import load


def test_the_page_shows_the_tables_of_the_committed_results() -> None:
    page = publish.PAGE.read_text()
    assert publish.render_page(page, publish.FOLDER) == page


def test_the_committed_results_cover_every_workload() -> None:
    content = results.read(publish.FOLDER / "core.json")
    names = [entry["workload"] for entry in content["workloads"]]
    assert names == [workload.name for workload in load()]


def test_plots_of_the_page_exist_and_are_drawn_by_the_command(tmp_path: Path) -> None:
    drawn = plots.draw_curves(results.read(publish.FOLDER / "curves.json"), tmp_path)
    drawn.append(plots.draw_clients(results.read(publish.FOLDER / "house.json"), tmp_path))
    shown = re.findall(r"\(performance/(\w+\.svg)\)", publish.PAGE.read_text())
    assert sorted(shown) == sorted(file.name for file in drawn)
    assert all((publish.FOLDER / name).exists() for name in shown)


def curve_results() -> dict[str, Any]:
    points = [
        {
            "workload": name,
            "size": size,
            "processor_us": {"median": 50.0 + size, "min": 40.0 + size, "max": 61.0 + size},
        }
        for name in ("SchedulingBasic", "TopologySpreading")
        for size in (1, 10, 100)
    ]
    return {"curves": dict.fromkeys(plots.CURVES, points)}


def test_equal_figures_give_equal_files_with_text_and_no_background(tmp_path: Path) -> None:
    first = plots.draw_curves(curve_results(), tmp_path / "first")
    second = plots.draw_curves(curve_results(), tmp_path / "second")
    for one, other in zip(first, second, strict=True):
        assert one.read_text() == other.read_text()
    drawn = ET.fromstring(first[0].read_text())
    texts = [
        "".join(element.itertext()) for element in drawn.iter() if element.tag.endswith("text")
    ]
    assert {"nodes", "SchedulingBasic", "TopologySpreading"} <= set(texts)
    assert "#ffffff" not in first[0].read_text()


@pytest.mark.parametrize("colour", [plots.TEXT, *(colour for colour, _ in plots.LINES)])
def test_colours_are_readable_on_light_and_dark_pages(colour: str) -> None:
    assert contrast(colour, "#ffffff") > 3
    assert contrast(colour, "#0d1117") > 3


def contrast(one: str, other: str) -> float:
    """The ratio that WCAG defines."""
    lower, higher = sorted((luminance(one), luminance(other)))
    return (higher + 0.05) / (lower + 0.05)


def luminance(colour: str) -> float:
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_spreads_are_medians_with_lowest_and_highest() -> None:
    combined = results.combine([{"rate": 30.0}, {"rate": 10.0}, {"rate": 1000.0}])
    assert combined == {"rate": {"median": 30.0, "min": 10.0, "max": 1000.0}}
    assert results.format_spread(combined["rate"]) == "30 (10–1,000)"
    assert results.format_spread(results.combine([{"rate": 5.0}])["rate"]) == "5"


def test_figures_of_the_real_scheduler_name_known_workloads() -> None:
    assert set(tables.REAL["workloads"]) <= {workload.name for workload in load()}
