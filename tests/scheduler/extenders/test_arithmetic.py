"""The extender log of kube-scheduler's documents, added up again.

Host node-1 => score 1000404: NodePreferAvoidPods 1000000, plugins 93 + 86 + 100, others 105,
and the extender's 2, which counts ten times.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from apps.scheduler.clock import VirtualClock
from apps.scheduler.config import load
from apps.scheduler.config.plugin_table import KnownPlugin
from apps.scheduler.config.types import API_VERSION, KIND
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.registry import BUILT_IN, TABLE
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.extenders.running import RunningExtender

SCORE = frozenset({"score"})
#: plugin -> (weight, score of node-1, score of node-2)
LOGGED: Mapping[str, tuple[int, int, int]] = {
    "NodePreferAvoidPods": (10_000, 100, 100),
    "First": (1, 93, 97),
    "Second": (1, 86, 86),
    "Third": (1, 100, 100),
    # what the log does not list
    "OthersHundred": (1, 100, 100),
    "OthersFive": (1, 5, 5),
}


class Logged:
    """Scores the two nodes as the log has it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        of_node = dict(zip(("node-1", "node-2"), LOGGED[self.name][1:], strict=True))
        return np.array([of_node[nodes.info(row).name] for row in rows], dtype=np.int64)


@pytest.fixture
def scheduler(extender: RunningExtender) -> Any:
    enabled = [{"name": name, "weight": weight} for name, (weight, _, _) in LOGGED.items()]
    scores = {"score": {"disabled": [{"name": "*"}], "enabled": enabled}}
    config = load(
        {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "profiles": [{"plugins": scores}],
            "extenders": [{"urlPrefix": extender.url, "prioritizeVerb": "prioritize", "weight": 1}],
        },
        {**TABLE, **{name: KnownPlugin(name=name, extension_points=SCORE) for name in LOGGED}},
    )
    plugins = {name: lambda args, handle, name=name: Logged(name) for name in LOGGED}
    scheduler = Scheduler(config, clock=VirtualClock(), registry={**BUILT_IN, **plugins})
    for name in ("node-1", "node-2"):
        scheduler.handle("Node", None, make_node(name).obj())
    yield scheduler
    scheduler.close()


def test_the_log_adds_up(scheduler: Scheduler, extender: RunningExtender) -> None:
    scores = [{"Host": "node-1", "Score": 2}, {"Host": "node-2", "Score": 5}]
    extender.answers("prioritize", scores)
    scheduler.handle("Pod", None, make_pod("p").obj())
    decision = scheduler.schedule_one()
    assert decision is not None and decision.node == "node-2"
    assert decision.total.tolist() == [1_000_404, 1_000_438]
    assert decision.scores_of("node-1")[extender.url] == (2, 20, 20)
    assert decision.scores_of("node-2")[extender.url] == (5, 50, 50)
