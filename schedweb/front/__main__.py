"""Run the web front."""

from __future__ import annotations

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "schedweb.settings")
django.setup()

from schedweb.front.server import main  # noqa: E402

main()
