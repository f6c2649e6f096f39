"""The migrated database that test processes and sites copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import migrated


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("apps/a/migrations/0001_initial.py", "requirements.lock"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("one")
    return tmp_path


def test_all_sources_exist() -> None:
    assert all(list(migrated.ROOT.glob(pattern)) for pattern in migrated.SOURCES)


@pytest.mark.parametrize(
    "changed",
    ["apps/a/migrations/0001_initial.py", "apps/a/migrations/0002_next.py", "requirements.lock"],
)
def test_another_migration_or_package_needs_another_database(checkout: Path, changed: str) -> None:
    before = migrated.digest(checkout)
    assert migrated.digest(checkout) == before
    (checkout / changed).write_text("two")
    assert migrated.digest(checkout) != before


def test_a_data_folder_with_a_database_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()
    migrated.copy_to(tmp_path)
    assert list((tmp_path / "postgres").iterdir()) == []
