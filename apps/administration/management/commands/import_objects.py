"""manage.py import_objects CLUSTER PATH...: create the objects of files, folders and archives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from apps.administration.clusters import manifests
from apps.administration.management.command import USER, ControlPlaneCommand
from apps.cluster import limits
from apps.cluster.manifests.places import ManifestErrors
from apps.cluster.manifests.text_files import File, is_read, read_files
from apps.cluster.writes import SITE_MANAGER, Actor


class Command(ControlPlaneCommand):
    help = (
        "Create every object of files, or none: YAML, JSON, an object on each line, gzip, tar, "
        "zip, or a folder that `kubectl cluster-info dump --output-directory` has written."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("cluster")
        parser.add_argument("paths", type=Path, nargs="+", metavar="PATH")
        parser.add_argument(
            "--keep-uids", action="store_true", help="otherwise each object gets a new one"
        )
        parser.add_argument(
            "--strict",
            action="store_true",
            help="refuse objects that refer to missing namespaces, priority classes, runtime "
            "classes and service accounts, instead of adding these",
        )

    def run(self, **options: Any) -> None:
        cluster = self.get_cluster(options["cluster"])
        try:
            imported = manifests.import_texts(
                cluster,
                read_files(_open(options["paths"])),
                actor=Actor(USER, "", SITE_MANAGER),
                options=manifests.Options(keep_uids=options["keep_uids"], strict=options["strict"]),
            )
        except ManifestErrors as errors:
            raise CommandError("\n".join(each.message for each in errors.errors)) from errors
        self.stdout.write(imported.summary)


def _open(paths: list[Path]) -> Iterator[File]:
    """The files, and those of folders by their paths in them."""
    for path in paths:
        if not path.is_dir():
            yield _read(path, str(path))
            continue
        inside = sorted(each for each in path.rglob("*") if each.is_file())
        for each in inside:
            name = str(each.relative_to(path))
            if is_read(name):
                yield _read(each, str(path / name))


def _read(path: Path, name: str) -> File:
    try:
        if not limits.BODY_BYTES.admits(path.stat().st_size):
            raise CommandError(f"{name}: it has more than {limits.BODY_BYTES.highest:,} bytes")
        return File(name, path.read_bytes())
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}") from error
