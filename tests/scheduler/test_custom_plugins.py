"""Plugins from outside the tree: written per node or with columns, right or wrong."""

from __future__ import annotations

import importlib
import inspect
import logging
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import apps.scheduler.plugins.examples
from apps.scheduler.config.errors import ConfigError
from apps.scheduler.decision import Decision, Result
from apps.scheduler.explaining.evaluation import evaluate, evaluate_in_last_snapshot
from apps.scheduler.explaining.refusing import refusals_at
from apps.scheduler.explaining.scores import ScoredEvaluation, ScoreInputs
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import ActionType, ClusterEvent, Resource
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.interface import PostFilterResult, PreFilterResult, Verdicts
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns
from apps.scheduler.framework.per_node import PerNodePlugin
from apps.scheduler.framework.profile_plugins import PluginError
from apps.scheduler.framework.status import SKIP, SUCCESS, Code, Status, unschedulable
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.plugins.registry import BUILT_IN
from apps.scheduler.queue.records import SubQueue
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from apps.scheduler.testing.trial import Trial
from apps.studies.importers.source_files import Files
from apps.studies.scenarios.language.reading import Source
from apps.studies.scenarios.running.sweeping import load_scenario, run_scenario
from tests.example_plugins import Licences, LicencesInColumns, Windows
from tests.scheduler.cycle import attempt

EXAMPLES = Path(apps.scheduler.plugins.examples.__file__).parent
GUIDE = Path(__file__).parents[2] / "docs" / "plugins" / "writing-a-plugin.md"
LABEL = "example.com/licences"

New = Callable[..., Scheduler]


@pytest.fixture
def new() -> Iterator[New]:
    """``new(Plugin, args={...})``: the plugin is enabled wherever it can be."""
    made: list[Scheduler] = []

    def make(plugin: type[Any], args: Mapping[str, Any] | None = None) -> Scheduler:
        trial = Trial(plugin, args={} if args is None else {plugin.name: args})
        made.append(trial.scheduler)
        for node, licences in (("a", "maya_houdini"), ("b", "maya"), ("c", "")):
            trial.add(make_node(node).label(LABEL, licences).label("other", "nuke"))
        return trial.scheduler

    yield make
    for scheduler in made:
        scheduler.validate()


def decide(scheduler: Scheduler, licence: str = "", name: str = "p") -> Decision:
    pod = make_pod(name).req(cpu=1)
    if licence:
        pod.body["metadata"]["annotations"] = {"example.com/licence": licence}
    return attempt(scheduler, pod)


def raising(*_: Any) -> Any:
    raise ZeroDivisionError("oh no")


@pytest.mark.parametrize("plugin", [Licences, Windows, LicencesInColumns])
def test_the_guide_shows_plugins_that_work(plugin: type[Any]) -> None:
    assert inspect.getsource(plugin) in GUIDE.read_text()


def blocks(language: str) -> list[str]:
    """The code of the guide in a language."""
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL)


def test_the_guide_shown_as_it_stands_is_a_module_whose_tests_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    *plugins, tests = blocks("python")
    module = ModuleType("my_company.licences")
    monkeypatch.setitem(sys.modules, "my_company", ModuleType("my_company"))
    monkeypatch.setitem(sys.modules, "my_company.licences", module)
    exec("\n".join(plugins), module.__dict__)
    assert {"Licences", "Windows", "LicencesInColumns"} <= module.__dict__.keys()
    shown: dict[str, Any] = {}
    exec(tests, shown)
    found = [each for name, each in shown.items() if name.startswith("test_")]
    assert len(found) == 4
    for each in found:
        each()


def test_the_scenario_of_the_guide_passes_with_its_plugin_and_says_why_not(settings: Any) -> None:
    settings.SCHEDWEB_PLUGINS = ("tests.example_plugins:Licences",)
    [text] = [each for each in blocks("yaml") if "expectations" in each]
    source = Source(text)
    assert run_scenario(load_scenario(source), source, Files()).passed
    without = Source(text.replace("maya_houdini", "maya"))
    [run] = run_scenario(load_scenario(without), without, Files()).runs
    said = [outcome.message for outcome in run.outcomes if not outcome.met]
    assert len(said) == 2
    why = (
        ". Pending: default/render-0 and 1 more: 0/2 nodes are available: 2 no licence for houdini"
    )
    assert all(why in each for each in said)


def test_the_guide_and_its_examples_import_only_what_it_calls_stable() -> None:
    section = GUIDE.read_text().split("## What is stable\n")[1]
    listed = set(re.findall(r"`(apps\.scheduler\.[a-z_.]+)`", section))
    texts = [*blocks("python"), Path(inspect.getfile(Licences)).read_text()]
    texts += [path.read_text() for path in EXAMPLES.glob("*.py")]
    used = set(re.findall(r"^from (apps[.\w]+) import (\w+)", "\n".join(texts), re.MULTILINE))
    modules = {f"{m}.{n}" if f"{m}.{n}" in listed else m for m, n in used}
    assert modules <= listed, modules - listed
    for name in listed:
        module = importlib.import_module(name)
        assert module.__doc__, name


@pytest.mark.parametrize("plugin", [Licences, LicencesInColumns])
def test_a_filter_per_node_and_one_in_columns_refuse_alike(new: New, plugin: type[Any]) -> None:
    decision = decide(new(plugin), "nuke")
    assert decision.message.startswith("0/3 nodes are available: 3 no licence for nuke.")
    beyond = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert decision.status_of("a") == Status(beyond, ("no licence for nuke",), plugin.name)
    assert decision.unschedulable_plugins == {plugin.name}
    assert decide(new(plugin), "houdini").node == "a"


def test_scores_are_raw_normalised_and_weighted_like_any_other(new: New) -> None:
    decision = decide(new(Licences), "maya")
    assert decision.node == "b"
    assert decision.scores_of("a")["Licences"] == (2, 0, 0)
    assert decision.scores_of("b")["Licences"] == (1, 50, 50)


def test_arguments_come_from_the_profile(new: New) -> None:
    decision = decide(new(Licences, args={"label": "other"}), "nuke")
    assert len(decision.feasible) == 3


def test_arguments_of_a_wrong_type_are_refused(new: New) -> None:
    with pytest.raises(ConfigError, match=r"pluginConfig\[0\].args.label: Invalid value: 3"):
        new(Licences, args={"label": 3})


def test_a_node_without_licences_counts_none(new: New) -> None:
    decision = decide(new(Licences))
    assert [decision.scores_of(node)["Licences"][0] for node in "abc"] == [2, 1, 0]


def explained(scheduler: Scheduler) -> list[Detail]:
    """What is said of node a, which has no licence for nuke."""
    pod = make_pod()
    pod.body["metadata"]["annotations"] = {"example.com/licence": "nuke"}
    evaluation = evaluate(scheduler, PodInfo(pod.obj()))
    [refusal] = refusals_at(evaluation, scheduler.snapshot.row_of("a"))
    return list(refusal.details)


def test_a_plugin_explains_its_refusals(new: New) -> None:
    [detail] = explained(new(Licences))
    assert detail.sentence == "the node has licences for ['maya', 'houdini']"
    assert detail.figures == {"licences": ["maya", "houdini"]}


def test_the_reasons_are_shown_where_a_plugin_explains_nothing(new: New) -> None:
    class Silent(Licences):
        def explain_refusal(self, *_: Any) -> Any:
            return ()

    class Clumsy(Licences):
        explain_refusal = raising

    class Wordy(Licences):
        def explain_refusal(self, *_: Any) -> Any:
            return "no licence"

    class Opaque(Licences):
        def explain_refusal(self, *_: Any) -> Any:
            return [Detail("see the object", {"object": object()})]

    for plugin in (LicencesInColumns, Silent, Clumsy, Wordy, Opaque):
        assert [each.sentence for each in explained(new(plugin))] == ["no licence for nuke"]


def score_inputs(scheduler: Scheduler) -> ScoreInputs:
    """The inputs of the score of node a."""
    decision = decide(scheduler)
    evaluation = evaluate_in_last_snapshot(scheduler, PodInfo(make_pod("p").obj()))
    return ScoredEvaluation(evaluation, decision).inputs("a", scheduler_plugin(decision))


def scheduler_plugin(decision: Decision) -> str:
    """The plugin from outside that scored."""
    return next(name for name in decision.scores if name not in BUILT_IN)


def test_a_plugin_explains_its_scores(new: New) -> None:
    found = score_inputs(new(Licences))
    assert [each.sentence for each in found.inputs] == [
        "the node has a licence for maya",
        "the node has a licence for houdini",
        "number of licences: 2",
    ]
    assert found.normalization[0].sentence == ("100 − 100 × 2 / 2, the quotient rounded down, is 0")
    assert (found.raw, found.normalized, found.gap) == (2, 0, "")


def test_scores_without_an_explanation_show_their_range_and_why(new: New) -> None:
    class Forgetful(Licences):
        asked = 0

        def score(self, state: CycleState, pod: PodInfo, node_info: NodeInfo) -> int:
            self.asked += 1
            return self.asked

    class Clumsy(Licences):
        explain_score = raising
        explain_normalization = raising

    silent = score_inputs(new(LicencesInColumns))
    assert silent.gap == "The plugin does not say what its scores follow from."
    forgetful = score_inputs(new(Forgetful))
    assert forgetful.gap.startswith("The plugin returns another score")
    clumsy = score_inputs(new(Clumsy))
    assert clumsy.gap.startswith("The plugin failed to explain the score: ")
    assert clumsy.normalization[0].sentence == "2 becomes 0; raw scores are from 0 to 2"
    assert not (silent.inputs or forgetful.inputs or clumsy.inputs)


def test_a_refused_pod_is_retried_when_a_registered_event_comes(new: New) -> None:
    scheduler = new(Licences)
    decide(scheduler, "nuke")
    assert scheduler.queue.contents.place_of("default/p") is SubQueue.UNSCHEDULABLE
    scheduler.handle("Node", None, make_node("d").label(LABEL, "nuke").obj())
    decision = scheduler.schedule_one()
    assert decision is not None and (decision.node, decision.attempt) == ("d", 2)


def test_the_hint_of_the_guide_keeps_the_pod_until_a_node_fits(new: New) -> None:
    scheduler = new(Windows)
    attempt(scheduler, make_pod("p").label("example.com/window", "night"))
    scheduler.handle("Node", None, make_node("d").label("example.com/window", "noon").obj())
    assert scheduler.queue.contents.place_of("default/p") is SubQueue.UNSCHEDULABLE
    scheduler.handle("Node", None, make_node("e").label("example.com/window", "night").obj())
    decision = scheduler.schedule_one()
    assert decision is not None and decision.node == "e"


def test_a_filter_is_asked_only_where_nobody_refused_before(new: New) -> None:
    class Curious(PerNodePlugin):
        name = "Curious"
        asked: list[str] = []

        def filter(self, state: CycleState, pod: PodInfo, node_info: NodeInfo) -> Status | None:
            self.asked.append(node_info.name)
            return None

    scheduler = new(Curious)
    scheduler.handle("Node", None, make_node("full").capacity(cpu=0).obj())
    decide(scheduler)
    assert Curious.asked == ["a", "b", "c"]


def test_pre_filter_sees_nodes_and_may_narrow_or_skip(new: New) -> None:
    class Picky(PerNodePlugin):
        name = "Picky"

        def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Any) -> Any:
            if pod.name == "anywhere":
                return None, SKIP
            fewest = min(nodes, key=lambda info: (len(info.pods), -ord(info.name[0])))
            return PreFilterResult(frozenset({fewest.name})), None

        def filter(self, state: CycleState, pod: PodInfo, node_info: NodeInfo) -> Status | None:
            return unschedulable("not this one") if node_info.name != "c" else None

    scheduler = new(Picky)
    assert decide(scheduler).node == "c"
    decision = decide(scheduler, name="anywhere")
    assert len(decision.feasible) == 3 and "Picky" in decision.filter_skipped


def test_trials_tell_the_plugin_which_pods_come_and_go(new: New) -> None:
    class AtMostTwo(PerNodePlugin):
        """By its own count, which it keeps in the cycle state."""

        name = "AtMostTwo"

        def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Any) -> Any:
            state.write(self.name, Counts({info.name: len(info.pods) for info in nodes}))
            return None, None

        def add_pod(self, state: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo) -> None:
            state.read(self.name, Counts).of[node.name] += 1

        def remove_pod(
            self, state: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo
        ) -> None:
            state.read(self.name, Counts).of[node.name] -= 1

        def filter(self, state: CycleState, pod: PodInfo, node_info: NodeInfo) -> Status | None:
            full = state.read(self.name, Counts).of[node_info.name] >= 2
            return unschedulable("two are enough") if full else None

    class Counts:
        def __init__(self, of: dict[str, int]) -> None:
            self.of = of

        def clone(self) -> Counts:
            return Counts(dict(self.of))

    scheduler = new(AtMostTwo)
    for node in "abc":
        for number in "12":
            pod = make_pod(f"{node}{number}").on(node).priority(int(number)).obj()
            scheduler.handle("Pod", None, pod)
    scheduler.handle("Pod", None, make_pod("vip").priority(100).obj())
    decision = scheduler.schedule_one()
    assert decision is not None and decision.post_filter is not None
    assert [each.victims for each in decision.post_filter.candidates] == [
        ("default/a1",),
        ("default/b1",),
        ("default/c1",),
    ]


@pytest.mark.parametrize(
    ("method", "does", "said"),
    [
        ("pre_filter", raising, 'running PreFilter plugin "Bad": ZeroDivisionError: oh no'),
        ("filter", raising, 'running "Bad" filter plugin: ZeroDivisionError: oh no'),
        ("filter", lambda *_: "no", 'running "Bad" filter plugin: TypeError: filter returned'),
        ("pre_score", raising, 'running PreScore plugin "Bad": ZeroDivisionError: oh no'),
        ("score", raising, 'running "Bad" Score plugin: ZeroDivisionError: oh no'),
        ("score", lambda *_: 0.5, 'running "Bad" Score plugin: TypeError: score must give whole'),
        ("score", lambda *_: 101, 'plugin "Bad" returns an invalid score, it should in the range'),
        ("reserve", raising, 'running Reserve plugin "Bad": ZeroDivisionError: oh no'),
        ("permit", raising, 'running Permit plugin "Bad": ZeroDivisionError: oh no'),
        ("pre_bind", raising, 'running PreBind plugin "Bad": ZeroDivisionError: oh no'),
        (
            "filter",
            lambda *_: SKIP,
            'running "Bad" filter plugin: ValueError: filter must not',
        ),
        (
            "pre_filter",
            lambda *_: (None, True),
            'running PreFilter plugin "Bad": TypeError: pre_filter returned True, which is neither',
        ),
        (
            "pre_filter",
            lambda *_: (PreFilterResult("node-1"), None),  # type: ignore[arg-type]
            'running PreFilter plugin "Bad": TypeError: pre_filter returned the node names ',
        ),
        (
            "pre_score",
            lambda *_: True,
            'running PreScore plugin "Bad": TypeError: pre_score returned True, which is neither',
        ),
        (
            "reserve",
            lambda *_: True,
            'running Reserve plugin "Bad": TypeError: reserve returned True, which is neither a',
        ),
        (
            "reserve",
            lambda *_: SKIP,
            'running Reserve plugin "Bad": ValueError: reserve must not return Skip',
        ),
        (
            "reserve",
            lambda *_: Status(Code.UNSCHEDULABLE, (5,)),  # type: ignore[arg-type]
            'running Reserve plugin "Bad": TypeError: reserve returned a Status whose reasons are',
        ),
        (
            "reserve",
            lambda *_: Status(2, ("no",)),  # type: ignore[arg-type]
            'running Reserve plugin "Bad": TypeError: reserve returned a Status whose code is 2',
        ),
        (
            "reserve",
            lambda *_: sys.exit("enough"),
            "running Reserve plugin \"Bad\": RuntimeError: reserve raised SystemExit('enough')",
        ),
        (
            "permit",
            lambda *_: (Status(Code.WAIT), float("nan")),
            'running Permit plugin "Bad": TypeError: permit returned the timeout nan, not a number',
        ),
        (
            "permit",
            lambda *_: (Status(Code.WAIT), "soon"),
            "running Permit plugin \"Bad\": TypeError: permit returned the timeout 'soon', not a",
        ),
        (
            "permit",
            lambda *_: None,
            'running Permit plugin "Bad": TypeError: permit returned None, not a tuple of a Status',
        ),
    ],
)
def test_a_mistake_is_an_error_that_names_the_plugin(
    new: New, method: str, does: Any, said: str
) -> None:
    methods = {"name": "Bad", method: does}
    if method == "reserve":
        methods["unreserve"] = raising
    scheduler = new(type("Bad", (PerNodePlugin,), methods))
    decision = decide(scheduler)
    assert decision.result is Result.ERROR
    assert decision.message.startswith(said)
    assert not any(node.pods for node in scheduler.cache.nodes.values())
    assert scheduler.queue.contents.place_of("default/p") is SubQueue.BACKOFF


@pytest.mark.parametrize(
    ("does", "said"),
    [
        (raising, 'running PostFilter plugin "Bad": ZeroDivisionError: oh no'),
        (lambda *_: None, 'running PostFilter plugin "Bad": TypeError: post_filter returned None'),
        (lambda *_: (None, None), "TypeError: post_filter returned no Status"),
        (
            lambda *_: (PostFilterResult(nominating="a"), SUCCESS),  # type: ignore[arg-type]
            "TypeError: post_filter nominates 'a', not a NominatingInfo with a name",
        ),
        (
            lambda *_: (PostFilterResult(victims=("default/q",)), SUCCESS),  # type: ignore[arg-type]
            "TypeError: post_filter returned 'default/q' among the pods, not a PodInfo",
        ),
    ],
)
def test_a_mistake_in_post_filter_is_part_of_the_message(new: New, does: Any, said: str) -> None:
    methods = {
        "name": "Bad",
        "filter": lambda *_: unschedulable("full"),
        "post_filter": does,
    }
    decision = decide(new(type("Bad", (PerNodePlugin,), methods)))
    assert decision.result is Result.UNSCHEDULABLE
    assert decision.message.startswith("0/3 nodes are available: 3 full.")
    assert said in decision.message


@pytest.mark.parametrize(
    ("reason", "shown"),
    [("a\0b", "a\ufffdb"), ("a\ud800b", "a\ufffdb"), ("x" * 5000, "x" * 1023 + "…")],
)
def test_a_reason_that_cannot_be_stored_is_shown_without_what_cannot(
    new: New, reason: str, shown: str, caplog: pytest.LogCaptureFixture
) -> None:
    # a report of this test could not be sent with such a text in its log
    caplog.set_level(logging.CRITICAL, "apps.scheduler.framework.guard")
    methods = {"name": "Bad", "filter": lambda *_: unschedulable(reason)}
    decision = decide(new(type("Bad", (PerNodePlugin,), methods)))
    assert decision.message.startswith(f"0/3 nodes are available: 3 {shown}. no new claims")

    class Unreadable(Exception):
        def __str__(self) -> str:
            raise ZeroDivisionError

    def raises(*_: Any) -> Any:
        raise (Unreadable() if reason == "a\0b" else ValueError(reason))

    methods = {"name": "Bad", "pre_filter": raises}
    message = decide(new(type("Bad", (PerNodePlugin,), methods))).message
    assert "\0" not in message and "\ud800" not in message and len(message) < 1100
    assert message.startswith('running PreFilter plugin "Bad": ')


@pytest.mark.parametrize(
    ("events", "why"),
    [
        (raising, "oh no"),
        (lambda *_: ClusterEvent(Resource.NODE, ActionType.ADD), "not a list of ClusterEventWith"),
        (lambda *_: [ClusterEvent(Resource.NODE, ActionType.ADD)], "not a ClusterEventWithHint"),
    ],
)
def test_a_mistake_in_the_registered_events_is_named(new: New, events: Any, why: str) -> None:
    methods = {"name": "Bad", "filter": lambda *_: None, "events_to_register": events}
    with pytest.raises(PluginError, match=f'events of plugin "Bad": .*{why}'):
        new(type("Bad", (PerNodePlugin,), methods))


def test_a_negative_timeout_of_permit_has_passed(new: New) -> None:
    methods = {"name": "Bad", "permit": lambda *_: (Status(Code.WAIT), -1)}
    scheduler = new(type("Bad", (PerNodePlugin,), methods))
    decide(scheduler)
    [rejected] = scheduler.resolve_waiting()
    assert "rejected due to timeout after waiting -1s at plugin Bad" in rejected.message


def test_a_mistake_after_the_binding_undoes_nothing(new: New) -> None:
    scheduler = new(type("Bad", (PerNodePlugin,), {"name": "Bad", "post_bind": raising}))
    decision = decide(scheduler)
    scheduler.bound(decision)
    assert decision.result is Result.SCHEDULED
    assert scheduler.cache.find_pod(decision.pod_uid) is not None


def test_a_mistake_in_pre_enqueue_keeps_the_pod_out(new: New) -> None:
    scheduler = new(type("Bad", (PerNodePlugin,), {"name": "Bad", "pre_enqueue": raising}))
    scheduler.handle("Pod", None, make_pod("p").obj())
    assert scheduler.queue.contents.place_of("default/p") is SubQueue.GATED
    assert scheduler.schedule_one() is None


def test_columns_of_the_wrong_shape_are_an_error(new: New) -> None:
    class Short:
        name = "Short"

        def __init__(self, args: Any, handle: Any) -> None:
            pass

        def score(
            self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
        ) -> Int64Array:
            return np.zeros(1, dtype=np.int64)

    decision = decide(new(Short))
    assert decision.message == (
        'running "Short" Score plugin: TypeError: 3 scores of type int64 are wanted, '
        "not (1,) of type int64"
    )


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        (np.ones(3, dtype=bool), "which is neither Verdicts nor None"),
        (Verdicts(np.zeros(1, dtype=np.uint16), [None]), "ids of shape (1,) and type uint16"),
        (
            Verdicts(np.ones(3), [None, SKIP]),
            "ids of shape (3,) and type float64",
        ),  # type: ignore[arg-type]
        (Verdicts(np.full(3, 7, dtype=np.uint16), [None, SKIP]), "ids from 7 to 7 for 2 statuses"),
        (Verdicts(np.full(3, -1), [None, SKIP]), "ids from -1 to -1 for 2 statuses"),  # type: ignore[arg-type]
        (Verdicts(np.ones(3, dtype=np.uint16), [None, None]), "rejects a node without a Status"),
    ],
)
def test_verdicts_that_cannot_be_used_are_an_error(new: New, verdicts: Any, said: str) -> None:
    class Wrong:
        name = "Wrong"

        def __init__(self, args: Any, handle: Any) -> None:
            pass

        def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Any:
            return verdicts

    decision = decide(new(Wrong))
    assert decision.result is Result.ERROR
    assert decision.message.startswith('running "Wrong" filter plugin: ')
    assert said in decision.message


def test_the_traceback_of_a_repeated_mistake_is_logged_once(
    new: New, caplog: pytest.LogCaptureFixture
) -> None:
    scheduler = new(type("Often", (PerNodePlugin,), {"name": "Often", "filter": raising}))
    for name in "pqr":
        decide(scheduler, name=name)
    said = [each for each in caplog.records if "plugin Often failed in filter" in each.message]
    assert [bool(each.exc_info) for each in said] == [True, False, False]
    assert said[2].message.endswith("again: ZeroDivisionError: oh no")


def test_a_plugin_that_fails_to_sign_is_asked_in_each_cycle(new: New) -> None:
    class Unsigned:
        name = "Unsigned"
        sign: Any = raising
        skips: Any = raising

        def __init__(self, args: Any, handle: Any) -> None:
            self.asked = 0

        def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
            self.asked += 1
            return None

    scheduler = new(Unsigned)
    assert [decide(scheduler, name=name).result for name in "pqrs"] == [Result.SCHEDULED] * 4
    plugin: Any = scheduler.profiles["default-scheduler"].plugins["Unsigned"]
    assert plugin.asked == 4


def test_a_plugin_that_cannot_be_built_is_named(new: New) -> None:
    with pytest.raises(PluginError, match='initializing plugin "Bad": oh no'):
        new(type("Bad", (PerNodePlugin,), {"name": "Bad", "__init__": raising, "filter": raising}))
