"""Compares decisions that kube-scheduler-simulator recorded with ours; the result is a file."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import zstandard
from django.db.models import QuerySet

from apps.administration.operations import service
from apps.administration.operations.progress import Progress
from apps.cluster.access.grants import AnyUser
from apps.cluster.errors import NotFound
from apps.cluster.writes import Actor
from apps.engine.models import Operation
from apps.studies.scenarios.recorded_decisions.report import compare_file, read_decisions

KIND: Final = "recorded-decisions"
OUTPUT_NAME: Final = "comparison.json"


def start(text: str, name: str, configuration: str, *, actor: Actor) -> Operation:
    """Start the comparison of a file; BadRequest, and nothing is started, if it is wrong."""
    read_decisions(text.encode(), name, configuration)
    title = f"Compare the decisions recorded in {name}"[:300]
    payload = {"text": text, "configuration": configuration}
    return service.start(KIND, title, actor=actor, arguments={"name": name}, payload=payload)


def run(work: Progress) -> str:
    """`name`; the payload has the text and the configuration."""
    payload = work.payload()
    content = payload["text"].encode()
    report = compare_file(
        content, work.argument("name"), payload["configuration"], progress=work.step
    )
    Operation.objects.filter(pk=work.operation.pk).update(
        output=zstandard.compress(msgspec.json.encode(report)), output_name=OUTPUT_NAME
    )
    return f"{report['different']:,} of {report['decisions']:,} decisions differ"


def comparisons_of(user: AnyUser) -> QuerySet[Operation]:
    """The comparisons that a user may see, newest first."""
    return service.operations_for(user).filter(kind=KIND)


def get_comparison(number: int) -> tuple[Operation, dict[str, Any] | None]:
    """A comparison, and its report if it has succeeded; NotFound if there is none."""
    operation = service.get_operation(number)
    if operation.kind != KIND:
        raise NotFound("comparisons", str(number))
    return operation, service.read_result(operation, dict[str, Any])
