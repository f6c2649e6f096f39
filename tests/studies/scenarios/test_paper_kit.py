"""The kit for a paper: tables and plots of the results of scenarios."""

from __future__ import annotations

import csv
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Final

from django.core.management import call_command

ROOT: Final = Path(__file__).parents[3]
SCENARIO: Final = ROOT / "apps" / "studies" / "scenarios" / "library" / "07-bin-packing.yaml"


def draw(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "kits" / "paper" / "figures.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_figures_of_a_scenario_are_a_table_a_csv_and_plots(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    call_command("scenario", "run", str(SCENARIO), "--json", str(results), stdout=StringIO())
    drawn = draw(str(results), str(tmp_path / "figures"))
    assert drawn.returncode == 0, drawn.stderr
    folder = tmp_path / "figures"
    with (folder / "bin-packing.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["profile"], row["seed"], row["pending"]) for row in rows] == [
        *[("spreading", "1", "4"), ("spreading", "2", "4")],
        *[("packing", "1", "0"), ("packing", "2", "0")],
    ]
    assert r"packing & 28 $\pm$ 0 & 0 $\pm$ 0" in (folder / "bin-packing.tex").read_text()
    plots = [(folder / f"bin-packing.{kind}").stat().st_size for kind in ("svg", "png", "pdf")]
    assert min(plots) > 5_000


def test_a_file_without_results_is_named(tmp_path: Path) -> None:
    refused = draw(str(SCENARIO), str(tmp_path))
    assert refused.returncode == 1 and f"{SCENARIO} has no results" in refused.stderr
