"""`make bench-plots`: shows the results of the benchmarks in docs/performance.md.

Copies the JSON files of the last runs to docs/performance, draws their plots there, and replaces
the tables in the page, which are between two comments:

    <!-- table: core -->
    <!-- end -->
"""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench import plots, results, tables
from bench.machine import ROOT, format_load

RESULTS = ROOT / "var" / "bench"
PAGE = ROOT / "docs" / "performance.md"
FOLDER = ROOT / "docs" / "performance"
FILES = ("core.json", "curves.json", "house.json")
_TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def render_page(text: str, folder: Path) -> str:
    """The page with the tables of the JSON files in this folder."""
    core, curves, house = (results.read(folder / name) for name in FILES)
    rendered: Mapping[str, Callable[[], str]] = {
        "core": lambda: tables.core(core["workloads"], markdown=True),
        "house": lambda: tables.house(house, markdown=True),
        "memory": lambda: tables.memory(house, markdown=True),
        "coreconditions": lambda: describe(core),
        "curvesconditions": lambda: (
            f"{describe(curves)} Placed pods and kinds of pods: on {curves['base_nodes']:,} nodes."
        ),
        "houseconditions": lambda: describe(house),
    }
    return _TABLE.sub(lambda match: f"{match[1]}{rendered[match[2]]()}\n{match[3]}", text)


def describe(content: Mapping[str, Any]) -> str:
    """When, where and under which load something was measured."""
    machine, runs = content["machine"], content["runs"]
    times = "one run" if runs == 1 else f"medians of {runs} runs (lowest–highest)"
    return (
        f"{machine['at'][:10]}, commit `{machine['commit']}`, {machine['cores']} cores of "
        f"{machine['processor']}, Python {machine['python']}; {times}; "
        f"{format_load(content['load'])}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of new results")
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    for name in FILES:
        if (options.results / name).exists():
            shutil.copyfile(options.results / name, FOLDER / name)
    plots.draw_curves(results.read(FOLDER / "curves.json"), FOLDER)
    plots.draw_clients(results.read(FOLDER / "house.json"), FOLDER)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(render_page(page, FOLDER), encoding="utf-8")


if __name__ == "__main__":
    main()
