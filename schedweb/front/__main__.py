"""Run the web front."""

from __future__ import annotations

import os

import django

from schedweb import interpreter, memory

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "schedweb.settings")
memory.configure_malloc()
memory.shrink_tls_buffers()
interpreter.switch_soon()
memory.pause_collections()
django.setup()

from schedweb.front.server import main  # noqa: E402

main()
