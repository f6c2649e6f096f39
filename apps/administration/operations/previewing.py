"""Previews a configuration on recorded decisions; the result is a file, `preview.json`."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar, Final

import msgspec
import zstandard

from apps.administration.operations import service
from apps.administration.operations.progress import Progress
from apps.cluster import limits
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor
from apps.engine.models import Operation, SchedulingDecision
from apps.engine.profiles import revisions
from apps.studies.rebuilding.previewing import PreviewedDecision, preview

KIND: Final = "preview"
OUTPUT_NAME: Final = "preview.json"
#: Decisions of a preview by default.
DEFAULT_DECISIONS: Final = 200


class PreviewResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a preview."""

    #: what was previewed: "revision 3", "draft packing" or "unsaved configuration"
    subject: str
    configuration: str
    legacy: bool
    #: effect -> number of decisions; effects without decisions are left out
    effects: dict[str, int]
    #: newest first
    decisions: list[PreviewedDecision]

    ANSWER: ClassVar = ("subject", "differing", "effects", "decisions")

    @property
    def differing(self) -> int:
        """Number of decisions that differ."""
        return sum(each.effect.differs for each in self.decisions)


def start_preview(
    cluster: Cluster,
    configuration: str,
    *,
    subject: str,
    actor: Actor,
    legacy: bool = False,
    decisions: int = DEFAULT_DECISIONS,
    result: str = "",
) -> Operation:
    """Start a preview of a configuration on the newest decisions, all or those with a `result`.

    Raises ConfigError when the configuration is invalid, BadRequest for the other arguments.
    """
    if not limits.PREVIEWED_DECISIONS.admits(decisions):
        raise BadRequest(f"decisions: must be {limits.PREVIEWED_DECISIONS}")
    if result and result not in SchedulingDecision.Result.values:
        known = ", ".join(SchedulingDecision.Result.values)
        raise BadRequest(f"result: {result!r} is not one of {known}")
    revisions.check(configuration, legacy=legacy)
    return service.start(
        KIND,
        f"Preview {subject} on the last {decisions:,} decisions",
        actor=actor,
        cluster=cluster,
        arguments={"subject": subject, "legacy": legacy, "decisions": decisions, "result": result},
        payload={"configuration": configuration},
    )


def get_preview(cluster: Cluster, number: int) -> tuple[Operation, PreviewResult | None]:
    """A preview of this cluster, and its result if it has succeeded; NotFound if there is none."""
    operation = service.get_operation_of(cluster, KIND, number)
    return operation, service.read_result(operation, PreviewResult)


def run(work: Progress) -> str:
    """`subject`, `legacy`, `decisions` and `result`; the payload has the configuration."""
    text = work.payload()["configuration"]
    legacy: bool = work.argument("legacy")
    configuration = revisions.check(text, legacy=legacy)
    rows = _newest_rows(work.cluster, work.argument("decisions"), work.argument("result"))
    previewed = list(preview(rows, configuration, progress=work.step))
    counts = Counter(each.effect.value for each in previewed)
    result = PreviewResult(
        subject=work.argument("subject"),
        configuration=text,
        legacy=legacy,
        effects=dict(counts),
        decisions=previewed[::-1],
    )
    Operation.objects.filter(pk=work.operation.pk).update(
        output=zstandard.compress(msgspec.json.encode(result)), output_name=OUTPUT_NAME
    )
    return f"{result.differing:,} of {len(previewed):,} decisions differ"


def _newest_rows(cluster: Cluster, number: int, result: str) -> list[SchedulingDecision]:
    """The newest decisions in the order in which they were made."""
    decisions: Any = SchedulingDecision.objects.filter(cluster=cluster)
    if result:
        decisions = decisions.filter(result=result)
    return list(decisions.order_by("-id")[:number])[::-1]
