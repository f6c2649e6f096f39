#!/usr/bin/env python
"""The command line: Django's, and ``--version``.

Beside a running ``make up`` it finds the database by itself.
"""

from __future__ import annotations

import os
import sys

from django.core.management import execute_from_command_line

from schedweb import VERSION

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "schedweb.settings")
    os.environ.setdefault("SCHEDWEB_CONNECTION_POOL", "0")
    if sys.argv[1:] == ["--version"]:
        print(f"schedweb {VERSION}")
    else:
        execute_from_command_line(sys.argv)
