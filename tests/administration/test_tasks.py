"""The names by which tasks are sent, also by processes of another version."""

from __future__ import annotations

from django.conf import settings

from apps.administration.operations import service
from apps.engine.workers import waking
from schedweb.celery import app


def test_a_worker_knows_every_task_that_is_sent_by_name() -> None:
    app.loader.import_default_modules()
    scheduled = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    assert {*scheduled, service.RUN, waking.RUN_LOOP} <= set(app.tasks)
    assert waking.RUN_LOOP == "apps.controlplane.tasks.run_loop"
