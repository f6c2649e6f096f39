"""A crowded batch is committed in parts, while the next one is scheduled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Cluster, Pod
from apps.cluster.writing import store
from apps.cluster.writing.binding import make_binding
from apps.engine.ledger.reading import read
from apps.engine.loop import scheduling
from apps.engine.loop.engine import Engine
from apps.engine.loop.informer import Informer
from apps.engine.loop.recorder import Recorder
from apps.engine.metrics import stored
from apps.engine.models import QueueMove, SchedulingDecision
from apps.engine.workers import lease
from apps.scheduler.metrics.definitions import ATTEMPT_DURATION, SCHEDULE_ATTEMPTS
from apps.studies import rebuilding
from tests.engine.driving import ACTOR, Traffic, create_pods, pod, traffic

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cluster() -> Cluster:
    return create_cluster("lab", user="tests", nodes=3, zones=3, tie_break="first-name")


@pytest.fixture
def engine(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Batches of 4 decisions, then of 40 in parts of 10."""
    for name, value in (("BATCH", 4), ("CROWDED", 40), ("PART", 10)):
        monkeypatch.setattr(scheduling, f"{name}_DECISIONS", value)
    held = lease.acquire(cluster.pk)
    assert held is not None
    engine = Engine.load(cluster, held)
    yield engine
    engine.close()


def before_part(engine: Engine, number: int, act: Callable[[], object]) -> list[str]:
    """Do something when this part has been scheduled; the list gets the order of steps."""
    steps: list[str] = []
    begin, schedule_one = engine.recorder.begin, engine.scheduler.schedule_one

    def begin_part(*arguments: Any) -> Callable[[], None] | None:
        if steps.count("begin") == number:
            act()
        steps.append("begin")
        finish = begin(*arguments)
        assert finish is not None

        def end() -> None:
            steps.append("end")
            finish()

        return end

    def schedule() -> Any:
        steps.append("schedule")
        return schedule_one()

    engine.recorder.begin = begin_part  # type: ignore[method-assign]
    engine.scheduler.schedule_one = schedule  # type: ignore[method-assign]
    return steps


def run(cluster: Cluster, engine: Engine, pods: int) -> Traffic:
    create_pods(cluster, *(pod(f"p{number:02}", cpu="1m") for number in range(pods)))
    with traffic() as found:
        assert engine.run(5) is False
    engine.scheduler.validate()
    return found


def counted(cluster: Cluster) -> tuple[dict[str, float], int]:
    """Attempts by result, and how many durations of attempts were observed."""
    values = stored.load(cluster.pk)
    attempts = {labels[0]: count for labels, count in values.counters[SCHEDULE_ATTEMPTS.name]}
    durations = values.histograms[ATTEMPT_DURATION.name]
    return attempts, sum(sum(each.counts) for each in durations)


def test_the_next_part_is_scheduled_before_the_commit_has_ended(
    cluster: Cluster, engine: Engine
) -> None:
    steps = before_part(engine, 0, lambda: None)
    run(cluster, engine, 39)
    parts = "".join(step[0] for step in steps).split("b")[1:]
    assert [part.count("s") for part in parts[:2]] == [10, 10]
    assert all(part.index("e") >= 10 for part in parts[:2])
    assert Pod.objects.filter(cluster=cluster).exclude(node_name="").count() == 39
    rows = SchedulingDecision.objects.filter(cluster=cluster)
    seen = Counter(rows.values_list("cluster_version", "sequence"))
    assert len(seen) == 39 and set(seen.values()) == {1}
    for name in ("p13", "p14", "p23", "p33"):
        row = rows.get(name=name)
        again, stored_decision = rebuilding.recompute(row), read(row).decision
        assert again.node == stored_decision.node
        assert [*again.total] == [*stored_decision.total]
        assert again.tied_nodes() == stored_decision.tied_nodes()
    assert QueueMove.objects.filter(cluster=cluster, event="Done").count() == 39
    assert counted(cluster) == ({"scheduled": 39}, 39)


def test_rows_are_encoded_and_bindings_confirmed_during_a_commit(
    cluster: Cluster, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = before_part(engine, 0, lambda: None)
    assumed: list[int] = []

    def note(owner: type, name: str) -> None:
        act = getattr(owner, name)

        def noted(self: Any, *arguments: Any) -> Any:
            result = act(self, *arguments)
            steps.append(name)
            assumed.append(len([*engine.scheduler.assumed_pods()]))
            return result

        monkeypatch.setattr(owner, name, noted)

    note(Recorder, "encode")
    note(Informer, "apply_placements")
    run(cluster, engine, 39)
    others = [step for step in steps if step != "schedule"]
    first = others.index("begin") - 1
    assert others[first : first + 10] == [
        *("encode", "begin"),
        *("encode", "end", "begin"),
        *("encode", "end", "begin"),
        *("apply_placements", "end"),
    ]
    # without the pods of the two parts that were committed by then
    assert 15 in assumed


def test_a_part_with_a_failure_starts_its_last_bindings(
    cluster: Cluster, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduling, "PART_DECISIONS", 20)
    steps = before_part(engine, 0, lambda: None)
    create_pods(cluster, *(pod(f"first{number}", cpu="1m") for number in range(4)))
    create_pods(cluster, pod("large", cpu="900"))
    run(cluster, engine, 30)
    assert [step for step in steps if step != "schedule"] == ["begin", "end"]
    # the rest of the batch was scheduled before the commit had ended
    assert steps[steps.index("begin") : steps.index("end")].count("schedule") > 10
    rows = SchedulingDecision.objects.filter(cluster=cluster)
    assert Counter(rows.values_list("result", flat=True)) == {"scheduled": 34, "unschedulable": 1}
    assert QueueMove.objects.filter(cluster=cluster, event="Done").count() == 34
    assert Pod.objects.filter(cluster=cluster).exclude(node_name="").count() == 34


def test_a_pod_of_a_part_that_another_client_has_bound_fails_alone(
    cluster: Cluster, engine: Engine
) -> None:
    def bind() -> None:
        store.bind(cluster, "default", "p15", make_binding("node-2"), actor=ACTOR)

    before_part(engine, 1, bind)
    run(cluster, engine, 39)
    assert Pod.objects.filter(cluster=cluster).exclude(node_name="").count() == 39
    rows = SchedulingDecision.objects.filter(cluster=cluster)
    assert list(rows.filter(name="p15").values_list("result", flat=True)) == ["error"]
    assert rows.filter(result="scheduled").count() == 38
    # each once; the other client's binding took the pod out of the queue
    assert QueueMove.objects.filter(cluster=cluster, event="Done").count() == 38
    attempts, durations = counted(cluster)
    assert attempts == {"scheduled": 38, "error": 1} and durations == 39
