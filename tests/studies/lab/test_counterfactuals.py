"""Counterfactuals: a decision with other weights, and without some filters."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from cProfile import Profile
from functools import partial
from typing import Any

import numpy as np
import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.engine.ledger.reading import read
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from apps.engine.profiles.revisions import get_active, load_configuration
from apps.engine.results.flips import MAX_WEIGHT, Flip, find_flips
from apps.engine.results.scores import PluginScores, ScoreMatrix, score_matrix
from apps.engine.results.weighing import TieRule, recorded_rule, reweigh
from apps.studies.explanations.states import states
from apps.studies.lab.counterfactuals import Counterfactual, Question, ask
from apps.studies.lab.edits import Edits
from apps.studies.rebuilding import compare, decide_again
from apps.studies.rebuilding.previewing import Effect
from tests.engine.driving import create_pods, pod, traffic

Schedule = Callable[..., None]


def ask_about(
    name: str, weights: Mapping[str, int] | None = None, *, without: tuple[str, ...] = ()
) -> Counterfactual:
    row = SchedulingDecision.objects.filter(name=name).latest("pk")
    return ask(row, read(row), Question(weights=weights or {}, without=without))


def random_matrix(draw: random.Random, *, by_name: bool) -> tuple[ScoreMatrix, TieRule]:
    """Few distinct scores, so that ties and flips are frequent."""
    nodes = [f"node-{number:02}" for number in range(draw.randint(2, 12))]
    columns = {}
    for name in ("A", "B", "C", "D")[: draw.randint(1, 4)]:
        highest = draw.choice((2, 5, 100))
        scores = [draw.randint(0, highest) for _ in nodes]
        columns[name] = (draw.randint(0, 6), np.array(scores, dtype=np.int64))
    plugins = [
        PluginScores(name, weight, scores, scores, scores * weight)
        for name, (weight, scores) in columns.items()
    ]
    total = np.sum([each.weighted for each in plugins], axis=0)
    tied = [node for node, each in zip(nodes, total, strict=True) if each == total.max()]
    node = min(tied) if by_name else draw.choice(tied)
    rule = TieRule(by_name, node, frozenset(tied))
    matrix = ScoreMatrix(nodes, np.ones(len(nodes), np.int64), total, plugins, len(tied), False)
    return reweigh(matrix, {}, rule), rule


def totals_with(matrix: ScoreMatrix, plugin: str, weight: int) -> dict[str, int]:
    """Each node's total, added up one by one."""
    return {
        node: sum(
            int(each.normalized[place]) * (weight if each.name == plugin else each.weight)
            for each in matrix.plugins
        )
        for place, node in enumerate(matrix.nodes)
    }


def loses(matrix: ScoreMatrix, rule: TieRule, plugin: str, weight: int) -> bool:
    totals = totals_with(matrix, plugin, weight)
    tied = sorted(node for node, total in totals.items() if total == max(totals.values()))
    return rule.node not in tied or (rule.by_name and tied[0] != rule.node)


def prove(flip: Flip, matrix: ScoreMatrix, rule: TieRule) -> None:
    """The flip's nodes win with exactly its weights, and with no nearer weight does any other."""
    step = 1 if flip.weight > flip.recorded_weight else -1
    start = min(max(flip.recorded_weight, 0), MAX_WEIGHT)
    for nearer in range(start, flip.weight, step):
        assert not loses(matrix, rule, flip.plugin, nearer)
    beyond = 1000 if flip.is_open and step > 0 else flip.last_weight
    for weight in (*range(flip.weight, flip.last_weight + step, step), beyond):
        totals = totals_with(matrix, flip.plugin, weight)
        best = max(totals.values())
        assert sorted(node for node in totals if totals[node] == best) == list(flip.tied)
        assert loses(matrix, rule, flip.plugin, weight)
    totals = totals_with(matrix, flip.plugin, flip.weight)
    assert (flip.total, flip.recorded_node_total) == (max(totals.values()), totals[rule.node])


@pytest.mark.parametrize("by_name", [True, False])
def test_every_flip_is_proven_and_none_is_missed(by_name: bool) -> None:
    draw = random.Random(7)
    found = 0
    for _ in range(150):
        matrix, rule = random_matrix(draw, by_name=by_name)
        flips = find_flips(matrix, rule)
        for flip in flips:
            prove(flip, matrix, rule)
        ways = {(flip.plugin, flip.weight > flip.recorded_weight) for flip in flips}
        for plugin in matrix.plugins:
            for way, weights in (
                (True, range(plugin.weight + 1, MAX_WEIGHT + 1)),
                (False, range(plugin.weight)),
            ):
                lost = any(loses(matrix, rule, plugin.name, weight) for weight in weights)
                assert lost == ((plugin.name, way) in ways)
        distances = [flip.distance for flip in flips]
        assert distances == sorted(distances)
        found += len(flips)
    assert found > 150


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("tie_break", ["first-name", "random"])
def test_recorded_weights_give_the_recorded_totals(tie_break: str) -> None:
    cluster = create_cluster("lab", user="alice", nodes=12, zones=3, tie_break=tie_break)
    draw = random.Random(3)
    create_pods(
        cluster, *(pod(f"p{number}", cpu=f"{draw.randint(1, 30) * 100}m") for number in range(40))
    )
    Engines().run(cluster.pk)
    scored = 0
    for row in SchedulingDecision.objects.filter(cluster=cluster):
        record = read(row)
        matrix = score_matrix(record.decision)
        weights = {each.name: each.weight for each in matrix.plugins}
        found = ask(row, record, Question(weights=weights))
        assert found.matrix.total.tolist() == matrix.total.tolist()
        assert (list(found.matrix.nodes), found.node) == (list(matrix.nodes), row.node)
        assert found.effect is Effect.SAME
        for flip in found.flips:
            prove(flip, matrix, found.rule)
        scored += len(matrix.nodes) > 0
    assert scored > 30


@pytest.mark.django_db(transaction=True)
def test_another_weight_chooses_another_node_and_the_sentence_says_by_how_much(
    cluster: Cluster, schedule: Schedule
) -> None:
    preferred: dict[str, Any] = {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 1,
                    "preference": {
                        "matchFields": [
                            {"key": "metadata.name", "operator": "In", "values": ["node-2"]}
                        ]
                    },
                }
            ]
        }
    }
    schedule(pod("web", affinity=preferred))
    found = ask_about("web")
    assert (found.node, found.effect) == ("node-2", Effect.SAME)
    assert found.sentence.startswith("node-2 is chosen, with ")
    without = ask_about("web", {"NodeAffinity": 0})
    assert (without.node, without.effect) == ("node-0", Effect.OTHER_NODE)
    best = int(without.matrix.total[0])
    # ties are broken by name: all nodes have the same total without the preference
    assert without.sentence == f"node-0 instead of node-2: {best} to {best}."
    (flip,) = [each for each in found.flips if each.plugin == "NodeAffinity"]
    assert flip.sentence == "node-0 wins when NodeAffinity weighs 0."
    for weights, problem in (
        ({"NodeAffinity": 101}, "weight: NodeAffinity must weigh 0 to 100"),
        ({"NodeAffinity": -1}, "weight: NodeAffinity must weigh 0 to 100"),
        ({"Nothing": 1}, "weight: Nothing has no scores here"),
    ):
        with pytest.raises(BadRequest, match=problem):
            ask_about("web", weights)


@pytest.mark.django_db(transaction=True)
def test_a_filter_that_is_off_admits_the_nodes_that_it_rejected(
    cluster: Cluster, schedule: Schedule, row_counts: Callable[[], dict[str, int]]
) -> None:
    schedule(pod("elsewhere", nodeSelector={"disk": "ssd"}), pod("huge", cpu="64"), pod("web"))
    before = row_counts()
    found = ask_about("elsewhere", without=("NodeAffinity",))
    assert (found.node, found.effect) == ("node-0", Effect.NOW_SCHEDULED)
    assert len(found.matrix.nodes) == 3
    assert found.sentence.startswith("node-0 is chosen, with ")
    still = ask_about("huge", without=("NodeAffinity",))
    assert (still.node, still.effect) == ("", Effect.SAME)
    assert "Insufficient cpu" in still.sentence
    same = ask_about("web", without=("NodeResourcesFit",))
    assert same.effect is Effect.SAME and same.matrix.total.tolist() == same.recorded.total.tolist()
    (profile,) = load_configuration(get_active(cluster)).profiles
    every = ask_about("elsewhere", without=profile.plugins["filter"])
    assert (every.node, len(every.matrix.nodes)) == ("node-0", 3)
    with pytest.raises(BadRequest, match="without: ImageLocality is no filter plugin"):
        ask_about("web", without=("ImageLocality",))
    assert row_counts() == before


def test_a_draw_among_other_nodes_is_not_known() -> None:
    scores = np.array([10, 10, 4], dtype=np.int64)
    other = np.array([0, 0, 6], dtype=np.int64)
    plugins = [
        PluginScores("A", 1, scores, scores, scores),
        PluginScores("B", 0, other, other, other * 0),
    ]
    matrix = ScoreMatrix(["b", "a", "c"], np.array([1, 1, 3]), scores, plugins, 2, True)
    rule = recorded_rule(matrix, by_name=False)
    assert reweigh(matrix, {"A": 7}, rule).nodes[0] == "b", "the same draw falls as recorded"
    three = reweigh(matrix, {"B": 1}, rule)
    assert (three.chosen, three.tied) == (False, 3)
    (flip,) = [each for each in find_flips(matrix, rule) if each.plugin == "B"]
    assert flip.sentence == "c wins when B weighs 2 or more."


def count_calls(run: Callable[[], object]) -> int:
    profile = Profile()
    profile.runcall(run)
    return sum(entry.callcount for entry in profile.getstats())


def weigh_and_flip(matrix: ScoreMatrix, rule: TieRule) -> None:
    find_flips(reweigh(matrix, {"A": 3}, rule), rule)


def test_weights_and_flips_take_as_many_calls_for_a_thousand_nodes_as_for_a_hundred() -> None:
    calls = []
    for nodes in (100, 1000):
        scores = np.arange(nodes, dtype=np.int64) % 7
        plugins = [
            PluginScores(name, 1, column, column, column)
            for name, column in (("A", scores), ("B", 6 - scores))
        ]
        names = [f"node-{number:04}" for number in range(nodes)]
        matrix = ScoreMatrix(names, np.ones(nodes, np.int64), scores * 0 + 6, plugins, nodes, True)
        rule = TieRule(True, names[0], frozenset(names))
        calls.append(count_calls(partial(weigh_and_flip, matrix, rule)))
    assert calls[1] <= calls[0] + 20
    assert calls[1] < 1000, "not a few for each of the 101 weights of each plugin"


@pytest.mark.django_db(transaction=True)
def test_questions_share_the_state_of_their_decision_and_leave_it_as_it_was(
    cluster: Cluster, schedule: Schedule
) -> None:
    schedule(pod("elsewhere", nodeSelector={"disk": "ssd"}), pod("web"), pod("last"))
    row = SchedulingDecision.objects.get(name="elsewhere")
    record = read(row)
    other: dict[str, Any] = {
        "metadata": {"labels": {"topology.kubernetes.io/zone": "zone-9", "disk": "ssd"}},
        "status": {"images": [{"names": ["i"], "sizeBytes": 5}]},
    }
    questions = [
        Question(weights={}, without=("NodeAffinity",)),
        Question(weights={}, edits=Edits(nodes={"node-0": other})),
        Question(weights={}, edits=Edits(pod={"spec": {"nodeSelector": None}})),
    ]
    first = [ask(row, record, question) for question in questions]
    assert [found.node for found in first] == ["node-0"] * 3
    with pytest.raises(BadRequest, match="is no filter plugin"):
        ask(row, record, Question(weights={}, without=("Nothing",)))
    with traffic() as sent:
        again = [ask(row, record, question) for question in questions]
        with states.before(row) as state:
            assert compare(record.decision, decide_again(state, row, record.decision)) == []
            assert list(state.scheduler.cache.node_tree) == ["node-0", "node-1", "node-2"]
            assert state.scheduler.cache.image_states == {}
    assert sent.statements == [], "the state is not rebuilt"
    for one, two in zip(first, again, strict=True):
        assert (one.sentence, one.node) == (two.sentence, two.node)
        assert one.matrix.total.tolist() == two.matrix.total.tolist()
