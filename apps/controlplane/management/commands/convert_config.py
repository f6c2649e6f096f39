"""manage.py convert_config FILE: an older scheduler configuration as a v1 profile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.controlplane.profiles.plugins import known_plugins
from apps.scheduler.config import ConfigError
from apps.scheduler.config.convert import convert


class Command(BaseCommand):
    help = (
        "Turn a KubeSchedulerConfiguration of an older version, or a Policy v1, into a v1 "
        "configuration on standard output; what could not be translated is said on standard "
        "error. Needs no database."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--policy", type=Path, help="the Policy file that an algorithmSource refers to"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            policy = options["policy"].read_text() if options["policy"] else None
            conversion = convert(options["file"].read_text(), known_plugins(), policy=policy)
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(str(error)) from error
        except ConfigError as refused:
            raise CommandError("\n".join(map(str, refused.causes))) from refused
        for note in conversion.notes:
            self.stderr.write(f"note: {note}")
        if conversion.legacy:
            self.stderr.write("note: this is a legacy profile; load it as one")
        self.stdout.write(conversion.configuration_yaml, ending="")
