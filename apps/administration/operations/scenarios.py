"""Runs a scenario in a worker; the result is the operation's output, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import zstandard
from django.db.models import QuerySet

from apps.administration.operations import service
from apps.administration.operations.progress import Progress
from apps.cluster import limits
from apps.cluster.access.grants import AnyUser
from apps.cluster.errors import NotFound
from apps.cluster.writes import Actor
from apps.engine.models import Operation
from apps.studies.scenarios.confined import check_text, run_confined
from apps.studies.scenarios.examples import example_files

Body = dict[str, Any]

KIND: Final = "scenario"
_FILE: Final = "scenario.yaml"


class _Payload(msgspec.Struct):
    """What a worker runs."""

    text: str
    files: dict[str, bytes]


def start(text: str, files: Mapping[str, bytes], *, actor: Actor) -> Operation:
    """Start a scenario as an operation; ScenarioError, and nothing is started, if it is wrong.

    `files` has the contents of those that it names. TooManyRequests if the user has too many that
    have not ended.
    """
    service.check_number(actor.user, limits.SCENARIOS.highest, kind=KIND)
    scenario = check_text(text, _FILE)
    arguments = {"name": scenario.name, "runs": scenario.runs}
    payload = _Payload(text, dict(files))
    title = f"Run scenario {scenario.name}"[:300]
    return service.start(KIND, title, actor=actor, arguments=arguments, payload=payload)


def run(work: Progress) -> str:
    """Run it and store the result; says how many runs passed."""
    payload = msgspec.convert(work.payload(), _Payload)
    runs = work.argument("runs")

    def report(done: int, variation: str, seconds: float) -> None:
        message = f"{variation}: {seconds / 60:,.0f} simulated minutes" if variation else ""
        work.step(done, runs, message)

    files = {**example_files(), **payload.files}
    result = {**run_confined(payload.text, _FILE, files, report), "text": payload.text}
    Operation.objects.filter(pk=work.operation.pk).update(
        output=zstandard.compress(msgspec.json.encode(result)), output_name="scenario.json"
    )
    passed = sum(each["passed"] for each in result["runs"])
    return f"{passed} of {runs} runs passed"


def runs_of(user: AnyUser) -> QuerySet[Operation]:
    """The scenarios that a user may see, newest first."""
    return service.operations_for(user).filter(kind=KIND)


def get_scenario(number: int) -> Operation:
    """The operation with this number, which runs a scenario; NotFound."""
    operation = service.get_operation(number)
    if operation.kind != KIND:
        raise NotFound("scenarios", str(number))
    return operation


def result_of(operation: Operation) -> Body | None:
    """The result of a scenario that has been run; None while there is none."""
    if not operation.output_name:
        return None
    _, content = service.output_of(operation)
    result: Body = msgspec.json.decode(content)
    return result
