#!/usr/bin/env python
"""Django's command line. Beside a running ``make up`` it finds the database by itself."""

from __future__ import annotations

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "schedweb.settings")
    os.environ.setdefault("SCHEDWEB_CONNECTION_POOL", "0")
    execute_from_command_line(sys.argv)
