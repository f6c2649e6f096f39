"""The Celery application. ``celery -A schedweb.celery worker`` and ``... beat`` run it."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "schedweb.settings")

# pgmq reads this variable of many hosting platforms behind our back, and it would win.
os.environ.pop("DATABASE_URL", None)

app = Celery("schedweb")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
