"""The order of the files in a run of several processes, and which tests stay together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import durations

WALK = durations.WALK


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty record, and nothing measured."""
    path = tmp_path / "durations.json"
    path.write_text("{}")
    monkeypatch.setattr(durations, "RECORD", path)
    monkeypatch.setattr(durations, "_measured", type(durations._measured)())
    return path


def test_a_file_is_for_one_process_and_so_are_all_tests_of_sites() -> None:
    unit_of = durations.unit_of
    assert unit_of("tests/api/test_read.py::test_a") == unit_of("tests/api/test_read.py::test_b[1]")
    assert unit_of("tests/stack/test_site.py::test_a") == unit_of("tests/faults/test_faults.py::b")
    assert unit_of("tests/stack/test_config.py::test_a") == "tests/stack/test_config.py"


def test_the_parts_of_the_walk_over_all_pages_are_for_several_processes() -> None:
    assert durations.unit_of(f"{WALK}[0]") != durations.unit_of(f"{WALK}[1]")
    others = "tests/browser/test_every_page.py"
    assert durations.unit_of(f"{others}::test_every_route") == others


def test_what_was_measured_is_kept_until_it_is_measured_again(record: Path) -> None:
    # not this file, whose own tests are measured meanwhile
    this = "tests/test_architecture.py"
    durations.measure(f"{this}::test_a", 1.0)
    durations.measure(f"{this}::test_b", 2.04)
    durations.keep()
    assert durations.estimate([f"{this}::test_a"]) == {this: 3.0}
    durations.measure(f"{this}::test_a", 1.0)
    durations.measure("tests/deleted.py::test_a", 9.0)
    durations.keep()
    kept = json.loads(record.read_text())
    assert kept[this] == 4.0
    assert "tests/deleted.py" not in kept


def test_a_new_file_counts_by_the_number_of_its_tests(record: Path) -> None:
    few, many = (f"tests/{name}.py" for name in ("few", "many"))
    found = durations.estimate([f"{few}::a", f"{many}::a", f"{many}::b"])
    assert found[few] < found[many]
