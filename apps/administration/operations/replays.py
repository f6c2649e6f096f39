"""Replays of a span; the result is a file, `replay.json`."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import zstandard
from django.db.models import QuerySet

from apps.administration.operations import service
from apps.administration.operations.progress import Progress
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor
from apps.engine.models import Operation
from apps.studies.replay.replaying import describe_request, replay
from apps.studies.replay.report import ReplayReport
from apps.studies.replay.span import ReplayRequest, find_span

KIND: Final = "replay"
OUTPUT_NAME: Final = "replay.json"


def start_replay(cluster: Cluster, request: ReplayRequest, *, actor: Actor) -> Operation:
    """Start a replay. Raises the errors of `find_span` at once, and starts nothing then."""
    span = find_span(cluster, request)
    # the same span, also if the replay starts later
    fixed = msgspec.structs.replace(
        _Arguments.of(request), since=str(span.since.version), until=str(span.until.version)
    )
    changed = describe_request(span, request)
    what = "unchanged" if changed == "nothing" else f"with {changed}"
    return service.start(
        KIND,
        f"Replay versions {span.since.version:,} to {span.until.version:,} {what}",
        actor=actor,
        cluster=cluster,
        arguments=msgspec.to_builtins(fixed),
    )


def replays_of(cluster: Cluster) -> QuerySet[Operation]:
    """The replays of a cluster, newest first."""
    return service.operations().filter(cluster=cluster, kind=KIND)


def get_replay(cluster: Cluster, number: int) -> tuple[Operation, ReplayReport | None]:
    """A replay of this cluster, and its report if it has succeeded; NotFound if there is none."""
    operation = service.get_operation_of(cluster, KIND, number)
    return operation, service.read_result(operation, ReplayReport)


def run(work: Progress) -> str:
    """The arguments are those of a ReplayRequest."""
    request = ReplayRequest(**work.operation.arguments)
    report = replay(work.cluster, request, progress=work.step)
    Operation.objects.filter(pk=work.operation.pk).update(
        output=zstandard.compress(msgspec.json.encode(report)), output_name=OUTPUT_NAME
    )
    if not report.differs:
        return f"nothing differs in {report.decisions:,} decisions"
    return f"{report.differing:,} pods differ, in {report.decisions:,} recorded decisions"


class _Arguments(msgspec.Struct):
    """A ReplayRequest as JSON."""

    since: str
    until: str
    zone: str
    configuration: str
    revision: int | None
    feature_gates: dict[str, bool]
    seed: int | None

    @classmethod
    def of(cls, request: ReplayRequest) -> _Arguments:
        values: dict[str, Any] = {name: getattr(request, name) for name in cls.__struct_fields__}
        return cls(**{**values, "feature_gates": dict(request.feature_gates or {})})
