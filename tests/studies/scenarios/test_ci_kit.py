"""The kit for CI: its script compares the scenarios of a branch with those of its base."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
import yaml

ROOT: Final = Path(__file__).parents[3]
KIT: Final = ROOT / "kits" / "ci"


@pytest.fixture
def branch(tmp_path: Path) -> Path:
    """A repository with the scenario of the kit in `scheduling`."""
    folder = tmp_path / "scheduling"
    folder.mkdir()
    (folder / "packing.yaml").write_text((KIT / "packing.yaml").read_text())
    for command in (
        ("init", "--quiet", "--initial-branch", "main"),
        ("add", "."),
        ("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "base"),
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def check(branch: Path) -> subprocess.CompletedProcess[str]:
    schedweb = branch / "schedweb"
    schedweb.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT / "manage.py"} "$@"\n')
    schedweb.chmod(0o755)
    return subprocess.run(
        [str(KIT / "check.sh"), "scheduling", "main"],
        cwd=branch,
        env=os.environ | {"SCHEDWEB": str(schedweb), "SCHEDWEB_DATA": str(branch / "data")},
        capture_output=True,
        text=True,
    )


def test_a_branch_that_is_worse_than_its_base_fails_and_says_why(branch: Path) -> None:
    same = check(branch)
    assert same.returncode == 0, same.stderr
    assert "All 1 runs passed" in (branch / "summary.md").read_text()
    file = branch / "scheduling" / "packing.yaml"
    file.write_text(file.read_text().replace("MostAllocated", "LeastAllocated"))
    worse = check(branch)
    assert worse.returncode == 1, worse.stderr
    summary = (branch / "summary.md").read_text()
    assert "worse than in base.json: pending 3 (was 0)" in summary.replace("\\", "")
    assert "worse than in base.json" in (branch / "junit.xml").read_text()


@pytest.mark.parametrize("name", ["github.yaml", "gitlab.yaml"])
def test_the_workflows_call_the_script(name: str) -> None:
    text = (KIT / name).read_text()
    assert yaml.safe_load(text)
    assert ".schedweb/kits/ci/check.sh scheduling" in text and "make -C .schedweb install" in text
