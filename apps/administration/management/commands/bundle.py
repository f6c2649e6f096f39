"""manage.py bundle verify FILE: decide the decision in a bundle again. manage.py bundle write …"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.administration.management.command import ControlPlaneCommand
from apps.cluster.errors import ApiError
from apps.engine import queries
from apps.studies.bundles.building import bundle_of
from apps.studies.bundles.opening import OpenedBundle, open_bundle
from apps.studies.explanations.explained_decisions import explain_decision


class Command(BaseCommand):
    help = (
        "Bundles: one file with a decision and everything that it depended on. `verify` and `show` "
        "need no database."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        verify = actions.add_parser("verify", help="decide again, and compare; exits with 1 if not")
        verify.add_argument("files", nargs="+", type=Path, metavar="FILE")
        show = actions.add_parser("show", help="explain the decision in a bundle")
        show.add_argument("file", type=Path)
        show.add_argument("--node", default="", help="explain this node, too")
        write = actions.add_parser("write", help="write the bundle of a decision")
        write.add_argument("cluster")
        write.add_argument("decision", type=int)
        write.add_argument("-o", "--output", type=Path, help="the file; by default a name for it")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"_{options['action']}")(**options)
        except (ApiError, OSError) as error:
            raise CommandError(str(error)) from error

    def _verify(self, files: list[Path], **options: Any) -> None:
        failed = [file for file in files if not self._is_equal(file)]
        if failed:
            raise CommandError(
                f"{len(failed)} of {len(files)} bundles differ or cannot be decided here"
            )

    def _is_equal(self, file: Path) -> bool:
        try:
            opened = open_bundle(file.read_bytes())
            differences = opened.verify()
        except ApiError as error:
            self.stderr.write(f"{file}: {error.message}")
            return False
        self.stdout.write(f"{file}: {_describe(opened)}: {'differs' if differences else 'equal'}")
        for each in differences:
            self.stdout.write(f"  {each}")
        return not differences

    def _show(self, file: Path, node: str, **options: Any) -> None:
        opened = open_bundle(file.read_bytes())
        explained = explain_decision(opened.row, node=node, decision=opened.decision, source=opened)
        self.stdout.write(f"{_describe(opened)}\n{explained.sentence}")
        for each in explained.nodes:
            self.stdout.write(each.sentence)

    def _write(self, cluster: str, decision: int, output: Path | None, **options: Any) -> None:
        row = queries.decision_numbered(decision, ControlPlaneCommand.get_cluster(cluster))
        bundle = bundle_of(row)
        target = output or Path(bundle.name)
        target.write_bytes(bundle.data)
        self.stdout.write(f"{target}: {len(bundle.data):,} bytes")


def _describe(opened: OpenedBundle) -> str:
    row = opened.row
    return (
        f"decision {row.pk} of cluster {opened.bundle.cluster}, attempt {row.attempt} of "
        f"{row.namespace}/{row.name}, {row.result}{f' on {row.node}' if row.node else ''}"
    )
