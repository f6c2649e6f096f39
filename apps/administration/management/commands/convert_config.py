"""manage.py convert_config FILE: convert an older scheduler configuration to v1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.engine.profiles.plugins import convert
from apps.scheduler.config import ConfigError


class Command(BaseCommand):
    help = (
        "Convert a KubeSchedulerConfiguration of an older version, or a Policy v1, to v1 and print "
        "it; fields that cannot be converted are listed on standard error. Needs no database."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--policy", type=Path, help="the Policy file that an algorithmSource refers to"
        )
        parser.add_argument(
            "--feature-gates",
            default="",
            metavar="NAME=BOOL,…",
            help="the gates of the old scheduler, such as VolumeCapacityPriority=true",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            policy = options["policy"].read_text() if options["policy"] else None
            conversion = convert(
                options["file"].read_text(),
                policy=policy,
                feature_gates=_parse_gates(options["feature_gates"]),
            )
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(str(error)) from error
        except ConfigError as error:
            raise CommandError("\n".join(map(str, error.causes))) from error
        for note in conversion.notes:
            self.stderr.write(f"note: {note}")
        if conversion.legacy:
            self.stderr.write("note: this is a legacy configuration; load it as legacy")
        self.stdout.write(conversion.configuration, ending="")


def _parse_gates(text: str) -> dict[str, bool]:
    """The value of kube-scheduler's flag --feature-gates."""
    gates = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.strip().partition("=")
        if value.lower() not in ("true", "false"):
            raise CommandError(f"--feature-gates: {part!r} is not of the form Name=true")
        gates[name] = value.lower() == "true"
    return gates
