"""The scheduling queue against traces of kube-scheduler's, and against its own restoration."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from apps.conformance.hints import check_registered_events, run_hints_case
from apps.conformance.queue import QueueReplay, compare_queue, run_queue_case
from apps.scheduler.queue.records import SavedEntry

DATA = Path(__file__).parent / "data"


def recorded(family: str) -> list[Any]:
    with gzip.open(DATA / f"{family}.jsonl.gz", "rt") as lines:
        records = map(json.loads, lines)
        return [pytest.param(r["case"], r["expect"], id=r["case"]["id"]) for r in records]


@pytest.mark.parametrize(("case", "expect"), recorded("queue"))
def test_every_step_of_a_trace_leaves_the_queue_as_recorded(case, expect):
    assert run_queue_case(case, expect) == []


@pytest.mark.parametrize(("case", "expect"), recorded("hints"))
def test_every_plugin_hints_as_recorded(case, expect):
    assert run_hints_case(case, expect) == []


def test_plugins_register_the_recorded_events():
    tables = json.loads((DATA / "tables.json").read_text())
    assert check_registered_events(tables["registeredEvents"]) == []


class CrashingReplay(QueueReplay):
    """Saves after every step what the queue says has changed, and then loses the queue.

    Pods in flight come back to activeQ, which is not what the trace goes on with; at such steps
    the restored queue is only compared, and the trace goes on with the old one.
    """

    def __init__(self, case: Mapping[str, Any]) -> None:
        self._saved: dict[str, SavedEntry] = {}
        super().__init__(case)

    def perform(self, operation: Mapping[str, Any]) -> dict[str, Any]:
        seen = super().perform(operation)
        self._save()
        restored = self.new_queue()
        restored.restore(self._saved.values(), self.latest, self.queue.scheduling_cycle)
        assert {entry.pod_uid: entry for entry in restored.dump()} == self._saved
        if not self.queue.contents.in_flight_pods():
            before, self.queue = self.state(), restored
            assert self.state() == before
        return seen

    def _save(self) -> None:
        changes = self.queue.take_changes()
        self._saved.update({entry.pod_uid: entry for entry in changes.saved})
        for uid in changes.removed:
            self._saved.pop(uid, None)
        assert {entry.pod_uid: entry for entry in self.queue.dump()} == self._saved


@pytest.mark.parametrize(("case", "expect"), recorded("queue"))
def test_a_queue_lost_and_restored_after_every_step_goes_on_as_recorded(case, expect):
    assert compare_queue(case, expect, CrashingReplay(case)) == []
