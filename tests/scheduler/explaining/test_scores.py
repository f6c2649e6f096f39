"""What a score follows from: the last detail of a plugin gives the score that it returned."""

from __future__ import annotations

import numpy as np
import pytest

from apps.scheduler.explaining.scores import score_details
from apps.scheduler.explaining.sight import look
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.per_node import PerNodePlugin, columnar
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.conftest import NewScheduler


class Licences(PerNodePlugin):
    """Says the name of the node that it is asked about."""

    name = "Licences"

    def score(self, state: CycleState, pod: PodInfo, node_info: NodeInfo) -> int:
        return 7

    def explain_score(self, pod: PodInfo, node_info: NodeInfo) -> list[Detail]:
        assert node_info.node is not None
        return [Detail(f"{node_info.node.metadata.name} has 7 licences")]


@pytest.fixture
def scheduler(new_scheduler: NewScheduler) -> Scheduler:
    """Nodes of different sizes with different usage."""
    found = new_scheduler()
    for number in range(1, 7):
        node = make_node(f"n{number}").capacity(
            cpu=f"{number * 3}", memory=f"{number * 5}Gi", pods=9
        )
        found.cache.add_node(node.obj())
        pod = make_pod(f"p{number}").uid(f"p{number}").req(cpu=f"{number * 411}m", memory="700Mi")
        found.cache.add_pod(PodInfo(pod.on(f"n{number}").obj()))
    return found


@pytest.mark.parametrize("plugin", ["NodeResourcesFit", "NodeResourcesBalancedAllocation"])
def test_the_details_give_the_score_of_the_plugin(scheduler: Scheduler, plugin: str) -> None:
    sight = look(scheduler, PodInfo(make_pod().req(cpu="777m", memory="1Gi").obj()))
    rows = np.arange(6)
    scored = sight.framework.plugins[plugin].score(sight.state, sight.pod, sight.snapshot, rows)
    assert len(set(scored.tolist())) > 1
    for row, score in zip(rows.tolist(), scored.tolist(), strict=True):
        *inputs, result = score_details(sight, plugin, row)
        assert result.figures["score"] == score and result.sentence.endswith(f"= {score}")
        assert [each.figures["resource"] for each in inputs] == ["cpu", "memory"]
    assert score_details(sight, "NodeName", 0) == ()


def test_a_plugin_from_outside_explains_one_node_at_a_time(scheduler: Scheduler) -> None:
    sight = look(scheduler, PodInfo(make_pod().obj()))
    plugin = columnar(Licences)
    nodes = sight.spot(2).nodes
    (detail,) = plugin.explain_score(plugin.__new__(plugin), sight.pod, nodes)
    assert detail.sentence == f"{sight.snapshot.names[2]} has 7 licences"
