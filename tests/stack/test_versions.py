"""Older code refuses the database of a newer version."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from schedweb import VERSION
from schedweb.config import ROOT
from schedweb.versions import NewerDatabase, record_version, refuse_newer_database

pytestmark = pytest.mark.django_db


def test_a_database_of_a_newer_version_is_refused_and_not_changed() -> None:
    recorder = MigrationRecorder(connection)
    for number in range(5):
        recorder.record_applied("cluster", f"990{number}_of_the_future")
    with pytest.raises(CommandError) as refused:
        call_command("prepare")
    message = str(refused.value)
    assert message.startswith(
        "a newer version of schedweb has used this database, and this is version "
        f"{settings.VERSION}, which does not have the migrations cluster.9900"
    )
    assert "cluster.9900_of_the_future" in message and "and 2 more" in message
    assert not User.objects.exists()


def test_an_older_version_is_refused_and_both_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settings, "VERSION", "0.10.0")
    record_version()
    refuse_newer_database()
    monkeypatch.setattr(settings, "VERSION", "0.9.1")
    with pytest.raises(
        NewerDatabase, match=r"version 0\.10\.0 of schedweb .* this is version 0\.9\.1"
    ):
        refuse_newer_database()
    monkeypatch.setattr(settings, "VERSION", "1.0.0")
    refuse_newer_database()


def test_the_version_is_the_same_wherever_it_is_written_or_shown(client: Client) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    images = (ROOT / "deploy/kubernetes/kustomization.yaml").read_text()
    said = subprocess.run(
        [sys.executable, "manage.py", "--version"], cwd=ROOT, capture_output=True, text=True
    )
    assert project["version"] == VERSION == settings.VERSION
    assert f"newTag: {VERSION}\n" in images
    assert said.stdout == f"schedweb {VERSION}\n"
    assert client.get("/healthz").content.decode() == f"ok\nschedweb {VERSION}\n"
    assert f"schedweb {VERSION}</span>" in client.get("/login").content.decode()
    assert f"\n## {VERSION}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_current_database_and_one_with_a_removed_app_are_opened() -> None:
    refuse_newer_database()
    recorder = MigrationRecorder(connection)
    recorder.record_applied("an_app_of_an_earlier_version", "0001_initial")
    refuse_newer_database()
    recorder.record_applied("controlplane", "9900_of_the_future")
    with pytest.raises(NewerDatabase):
        refuse_newer_database()


@pytest.mark.parametrize("program", ["schedweb.front", "schedweb.worker"])
def test_a_process_ends_on_the_database_of_a_newer_version(
    transactional_db: None, tmp_path: Path, postgres: str, program: str
) -> None:
    MigrationRecorder(connection).record_applied("cluster", "9900_of_the_future")
    name = connection.settings_dict["NAME"]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SCHEDWEB_", "DJANGO_"))}
    ended = subprocess.run(
        [sys.executable, "-m", program],
        cwd=ROOT,
        env=kept
        | {
            "SCHEDWEB_DATA": str(tmp_path),
            "SCHEDWEB_DATABASE_URL": re.sub(r"(://[^/]*/)[^?]*", rf"\g<1>{name}", postgres),
            "SCHEDWEB_PORT": "0",
            "SCHEDWEB_TLS_PORT": "0",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    MigrationRecorder(connection).record_unapplied("cluster", "9900_of_the_future")
    assert ended.returncode == 1
    assert "does not have the migrations cluster.9900_of_the_future" in ended.stderr
