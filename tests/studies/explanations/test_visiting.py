"""The visiting order of searches that stop before they have evaluated all nodes."""

from __future__ import annotations

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.dashboard.decision_page.visiting import visiting_picture
from apps.engine.ledger.reading import read
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from apps.studies.explanations.visiting import Visit, read_visiting_order
from tests.engine.driving import configure, create_pods, pod

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_search_starts_where_the_last_one_stopped_and_passes_the_end() -> None:
    cluster = create_cluster("lab", user="tests", nodes=120, zones=3, tie_break="first-name")
    configure(cluster, percentageOfNodesToScore=0)
    create_pods(cluster, pod("a"), pod("b"))
    Engines().run(cluster.pk)
    rows = SchedulingDecision.objects.filter(cluster=cluster).order_by("pk")
    first, second = (read_visiting_order(row, read(row).decision) for row in rows)
    assert (first.start, first.evaluated, first.stop) == (0, 100, 100)
    assert (second.start, second.evaluated, second.stop, second.enough) == (100, 100, 80, 100)
    for order in (first, second):
        visited = {(order.start + step) % 120 for step in range(order.evaluated)}
        feasible = {each.position for each in order.nodes if each.outcome is Visit.FEASIBLE}
        assert visited == feasible
    zones = [each.zone for each in second.nodes]
    assert zones == [f"region-1/zone-{1 + position % 3}" for position in range(120)]
    start, stop, after = (second.nodes[place].node for place in (100, 79, 80))
    assert second.sentence == (
        f"The search started at {start}, position 101 of 120, and stopped after {stop}: of 100 "
        f"evaluated nodes 100 were feasible, which is enough. The next search starts at {after}."
    )
    picture = visiting_picture(second)
    shown = [(round(bar.start), round(bar.width)) for bar in picture.searched]
    assert shown == [(83, 17), (0, 67)]
    assert [lane.zone for lane in picture.lanes] == [f"region-1/zone-{zone}" for zone in (1, 2, 3)]
    assert picture.visited[0].node == start
