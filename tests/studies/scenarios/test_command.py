"""manage.py scenario: its output, JUnit XML and exit codes; it needs no database."""

from __future__ import annotations

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from django.core.management import CommandError, call_command

ROOT = Path(__file__).parents[3]
SCENARIO = """\
name: small
cluster: {nodes: [{count: 1, cpu: 2}]}
workloads: [{name: web, count: 3, requests: {cpu: "1"}}]
expectations:
- {name: all fit, bound: {equals: 3}}
- {noPreemption: true}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SCENARIO)
    return path


def test_failed_expectation_exits_with_1_and_is_a_failure_in_junit(
    file: Path, tmp_path: Path
) -> None:
    out, junit, results = StringIO(), tmp_path / "junit.xml", tmp_path / "results.json"
    with pytest.raises(CommandError, match="1 of 1 scenarios failed") as raised:
        call_command(
            "scenario", "run", str(file), "--junit", str(junit), "--json", str(results), stdout=out
        )
    assert raised.value.returncode == 1
    assert "FAILED  all fit: 2 pods were bound, = 3 is expected" in out.getvalue()
    suite = ElementTree.parse(junit).getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert msgspec.json.decode(results.read_bytes())[0]["runs"][0]["figures"]["pending"] == 1


def test_met_expectations_exit_with_0(file: Path) -> None:
    file.write_text(SCENARIO.replace("cpu: 2", "cpu: 4"))
    out = StringIO()
    call_command("scenario", "run", str(file), stdout=out)
    assert "small (default, seed 1): passed" in out.getvalue()


def test_scenario_that_cannot_be_run_exits_with_2(file: Path) -> None:
    file.write_text(SCENARIO.replace("bound:", "found:"))
    with pytest.raises(CommandError, match=r"small\.yaml:5: expectations\[0\]\.found") as raised:
        call_command("scenario", "check", str(file))
    assert raised.value.returncode == 2


def test_a_run_leaves_no_file_behind(file: Path, tmp_path: Path) -> None:
    file.write_text(SCENARIO.replace("cpu: 2", "cpu: 4"))
    data = tmp_path / "data"
    command = [sys.executable, "manage.py", "scenario", "run", str(file)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "SCHEDWEB_DATA": str(data)}, check=True)
    assert not data.exists()


def test_a_run_is_compared_with_an_earlier_one_and_summarized(file: Path, tmp_path: Path) -> None:
    baseline, summary = tmp_path / "main.json", tmp_path / "summary.md"
    file.write_text(SCENARIO.replace("cpu: 2", "cpu: 4"))
    call_command("scenario", "run", str(file), "--json", str(baseline), stdout=StringIO())
    compared = SCENARIO.replace("- {noPreemption: true}", "- {notWorse: {than: main.json}}")
    file.write_text(compared.replace("cpu: 2", "cpu: 4"))
    out = StringIO()
    call_command("scenario", "run", str(file), "--summary", str(summary), stdout=out)
    assert "ok      notWorse: not worse than in main.json: pending 0 (was 0)" in out.getvalue()
    assert "All 1 runs passed" in summary.read_text()
    file.write_text(compared.replace("equals: 3", "equals: 2"))
    with pytest.raises(CommandError, match="1 of 1 scenarios failed"):
        call_command("scenario", "run", str(file), "--summary", str(summary), stdout=out)
    assert "FAILED  notWorse: worse than in main.json: pending 1 (was 0)" in out.getvalue()
    assert "- notWorse: worse than in main.json: pending 1 (was 0)" in summary.read_text()
    for wrong, message in (
        ("{than: none.json}", r"small\.yaml:6: expectations\[1\]\.notWorse: .*cannot be read"),
        ("{than: small.yaml}", r"small\.yaml: has no results of scenarios"),
        ("{than: main.json, figures: [waits]}", r"figures\[0\]: must be one of pending, .*'waits'"),
        ("{than: main.json, percent: -1}", r"notWorse\.percent: must not be negative"),
    ):
        file.write_text(compared.replace("{than: main.json}", wrong))
        with pytest.raises(CommandError, match=message) as raised:
            call_command("scenario", "run", str(file), stdout=out)
        assert raised.value.returncode == 2
