"""The library of scenarios: each is documented, and does what its expectations say."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

import apps.studies.scenarios
from apps.studies.importers.source_files import Files
from apps.studies.scenarios.examples import example_files
from apps.studies.scenarios.language.reading import Source
from apps.studies.scenarios.results.presenting import digest
from apps.studies.scenarios.running.sweeping import load_scenario, run_scenario

LIBRARY = Path(apps.studies.scenarios.__file__).parent / "library"
FILES = sorted(LIBRARY.glob("*.yaml"))
DOCUMENT = Path(__file__).parents[3] / "docs" / "scenarios.md"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_scenario_meets_its_expectations(path: Path) -> None:
    source = Source(path.read_text(), path.name)
    scenario = load_scenario(source)
    finished = run_scenario(scenario, source, Files(path.parent))
    failed = [o for run in finished.runs for o in run.outcomes if not o.met]
    assert not failed
    assert scenario.description and len(scenario.expectations) >= 3


def test_the_example_of_the_document_meets_its_expectations() -> None:
    example = DOCUMENT.read_text().split("## Example\n")[1].split("\nDurations are")[0]
    source = Source(textwrap.dedent(example))
    finished = run_scenario(load_scenario(source), source, Files())
    assert len(finished.runs) == 3 and finished.passed


def test_library_has_twenty_scenarios_which_the_tutorial_lists() -> None:
    tutorial = (LIBRARY / "README.md").read_text()
    assert len(FILES) >= 20
    assert [path.name for path in FILES if f"({path.name})" not in tutorial] == []


def test_scenarios_with_files_run_where_only_their_text_is_sent() -> None:
    source = Source((LIBRARY / "22-simkube-trace.yaml").read_text())
    assert run_scenario(load_scenario(source), source, Files(sent=example_files())).passed


def test_same_seed_repeats_a_run_and_another_seed_does_not() -> None:
    text = (LIBRARY / "18-day-of-batch.yaml").read_text().replace("[1, 2]", "[1, 1, 2]")
    source = Source(text.replace("duration: 1d", "duration: 6h"))
    finished = run_scenario(load_scenario(source), source, Files())
    first, again, other = (digest(list(run.recorder.pods.values())) for run in finished.runs)
    assert first == again != other


def test_packing_leaves_room_for_large_pods_and_spreading_does_not() -> None:
    source = Source((LIBRARY / "07-bin-packing.yaml").read_text())
    finished = run_scenario(load_scenario(source), source, Files())
    pending = {
        run.variation.profile: sum(pod.is_pending for pod in run.recorder.pods.values())
        for run in finished.runs
    }
    assert pending == {"spreading": 4, "packing": 0}
