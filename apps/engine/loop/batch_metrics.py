"""The metrics of a batch of decisions that is being committed."""

from __future__ import annotations

import time
from collections.abc import Sequence

from apps.engine.ledger.records import DecisionRecord
from apps.scheduler.decision import Result
from apps.scheduler.metrics.attempts import Attempt, note_attempts
from apps.scheduler.metrics.gauges import note_state
from apps.scheduler.scheduler import Scheduler


def note_batch(scheduler: Scheduler, batch: Sequence[DecisionRecord]) -> None:
    """Add the attempts of a batch, and the state of the queue after it."""
    note_attempts(
        scheduler.metrics,
        (
            Attempt(record.decision, record.at.timestamp())
            for record in batch
            if record.decision.result.is_final
        ),
        now_ns=time.perf_counter_ns(),
        points=lambda profile: scheduler.profiles[profile].profile.plugins,
    )
    note_state(scheduler, bound_pods(batch))


def bound_pods(batch: Sequence[DecisionRecord]) -> set[str]:
    """The uids of the pods that get their nodes."""
    return {r.decision.pod_uid for r in batch if r.decision.result == Result.SCHEDULED}
