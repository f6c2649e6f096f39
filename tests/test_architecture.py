"""The rooms of the site and which way imports flow; the contracts are in pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = "import apps.scheduler.scheduler, apps.conformance.runner, sys"


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


def test_every_room_has_floors_and_no_package_is_without_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    exhaustive = {
        container
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract.get("exhaustive")
        for container in contract["containers"]
    }
    rooms = {f"apps.{file.parent.name}" for file in (ROOT / "apps").glob("*/__init__.py")}
    assert exhaustive == {"apps", "schedweb", *rooms}


@pytest.mark.parametrize("outsider", ["django", "celery", "rest_framework", "psycopg"])
def test_the_core_runs_without(outsider: str) -> None:
    print_loaded = f"{CORE}; print([m for m in sys.modules if m.split('.')[0] == '{outsider}'])"
    assert run("-c", print_loaded).strip() == "[]"


@pytest.mark.parametrize("room", ["apps/api/control", "apps/dashboard/views"])
def test_views_query_no_model_themselves(room: str) -> None:
    # none() only names the model, for the API's description
    queries = [
        f"{file.name}: {line.strip()}"
        for file in (ROOT / room).glob("*.py")
        for line in file.read_text().splitlines()
        if ".objects." in line.replace(".objects.none()", "") and "import" not in line
    ]
    assert queries == []


@pytest.mark.parametrize(
    "root",
    [
        *("apps/controllers", "apps/studies", "apps/api", "apps/dashboard", "schedweb"),
        *("apps/cel", "apps/conformance", "apps/administration/operations"),
    ],
)
def test_every_package_says_what_lives_there(root: str) -> None:
    packages = [file.parent for file in (ROOT / root).rglob("__init__.py")]
    silent = [
        str(package.relative_to(ROOT))
        for package in packages
        if package.name != "commands"
        and not (package / "__init__.py").read_text().startswith('"""')
    ]
    assert silent == []


def test_no_line_of_a_template_script_or_style_sheet_is_longer_than_120_characters() -> None:
    patterns = ("templates/**/*.html", "static/js/*.js", "static/css/*.css")
    own = [path for pattern in patterns for path in ROOT.glob(pattern)]
    too_long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in own
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if len(line) > 120
    ]
    assert len(own) > 100 and not too_long


@pytest.mark.parametrize(
    "path",
    [
        *("manage.py", "pyproject.toml", "docker-compose.yml", "Makefile", "README.md"),
        *("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", ".ci/run"),
        *("schedweb", "apps", "templates", "static", "tests", "docs", "bench"),
        *(f"apps/{room}" for room in ("engine", "studies", "administration", "api", "dashboard")),
        *(
            f"apps/{room}"
            for room in ("cel", "scheduler", "conformance", "cluster", "people", "controllers")
        ),
    ],
)
def test_everything_has_its_place(path: str) -> None:
    assert (ROOT / path).exists()
