"""Older code refuses the database of a newer version."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from schedweb.versions import NewerDatabase, refuse_newer_database

pytestmark = pytest.mark.django_db


def test_a_database_of_a_newer_version_is_refused_and_not_changed() -> None:
    recorder = MigrationRecorder(connection)
    for number in range(5):
        recorder.record_applied("cluster", f"990{number}_of_the_future")
    with pytest.raises(CommandError) as refused:
        call_command("prepare")
    message = str(refused.value)
    assert message.startswith("a newer version of schedweb has used this database")
    assert "cluster.9900_of_the_future" in message and "and 2 more" in message
    assert not User.objects.exists()


def test_the_current_database_and_one_with_a_removed_app_are_opened() -> None:
    refuse_newer_database()
    recorder = MigrationRecorder(connection)
    recorder.record_applied("an_app_of_an_earlier_version", "0001_initial")
    refuse_newer_database()
    recorder.record_applied("controlplane", "9900_of_the_future")
    with pytest.raises(NewerDatabase):
        refuse_newer_database()
