"""``manage.py rotate_key``: give the site a new secret key."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from schedweb.datafolder import rotate_secret_key


class Command(BaseCommand):
    requires_system_checks: list[str] = []
    help = (
        "Write a new secret key into the data folder. The key until now stays valid, as the second "
        "line, until the command is used again; older ones end."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.CONFIG.secret_key:
            raise CommandError(
                "the key of this site is SCHEDWEB_SECRET_KEY or SCHEDWEB_SECRET_KEY_FILE: write a "
                "new key there, as the line before the present one"
            )
        rotate_secret_key(settings.DATA_DIR)
        self.stdout.write(
            "The site has a new key. Restart it: the start encrypts with the new key what the old "
            "one has encrypted."
        )
