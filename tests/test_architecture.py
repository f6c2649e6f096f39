"""The rooms of the site and which way imports flow; the contracts are in pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = "import apps.scheduler.scheduler, apps.scheduler.conformance.runner, sys"


def run(*arguments: str) -> str:
    """The output of a Python program in the project's folder, which must succeed."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_imports_flow_one_way() -> None:
    told = run("-c", "from importlinter.cli import lint_imports_command as lint; lint()")
    assert "0 broken" in told


@pytest.mark.parametrize("outsider", ["django", "celery", "rest_framework", "psycopg"])
def test_the_core_runs_without(outsider: str) -> None:
    print_loaded = f"{CORE}; print([m for m in sys.modules if m.split('.')[0] == '{outsider}'])"
    assert run("-c", print_loaded).strip() == "[]"


@pytest.mark.parametrize(
    "path",
    [
        *("manage.py", "pyproject.toml", "docker-compose.yml", "Makefile", "README.md"),
        *("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", ".ci/run"),
        *("schedweb", "apps", "templates", "static", "tests", "docs", "bench"),
        *(f"apps/{room}" for room in ("scheduler", "cluster", "controlplane", "api", "dashboard")),
    ],
)
def test_everything_has_its_place(path: str) -> None:
    assert (ROOT / path).exists()
