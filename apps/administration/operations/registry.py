"""The kinds of operations, by their names in rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apps.administration.operations import (
    bulk,
    copying,
    drain,
    exporting,
    importing,
    lab_questions,
    previewing,
    recorded_decisions,
    replays,
    scenarios,
    traces,
    undoing,
)
from apps.administration.operations.progress import Progress

#: kind -> function that runs it and returns the result as one sentence
WORK: Mapping[str, Callable[[Progress], str]] = {
    "bulk": bulk.run,
    "copy": copying.run,
    "create-from-yaml": importing.run_create,
    "create-from-trace": traces.run_create,
    "drain": drain.run,
    "export": exporting.run,
    "generate": importing.run_generate,
    "import": importing.run_import,
    lab_questions.KIND: lab_questions.run,
    previewing.KIND: previewing.run,
    recorded_decisions.KIND: recorded_decisions.run,
    replays.KIND: replays.run,
    scenarios.KIND: scenarios.run,
    undoing.KIND: undoing.run,
}
