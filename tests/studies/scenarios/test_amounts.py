"""Scenarios that name more than a site can hold: refused before anything is built from them."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.cluster import limits
from apps.cluster.errors import BadRequest
from apps.engine.models import Operation
from apps.studies.importers.source_files import Files
from apps.studies.scenarios import confined
from apps.studies.scenarios.language.reading import ScenarioError, Source
from apps.studies.scenarios.running.sweeping import load_scenario, run_scenario

HEAD = "name: x\ncluster: {nodes: [{count: 2}]}\n"
HUGE = 1_000_000_000
NODES = f"name: x\ncluster: {{nodes: [{{count: {HUGE}}}]}}\noperations: [{{fail: node-1}}]\n"
DEPLOYMENT = """
workloads:
- name: web
  objects:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: %d
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec: {containers: [{name: c, image: i}]}
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (NODES, "x.yaml:2: cluster.nodes[0].count: must be between 1 and 100,000"),
        (
            "name: x\ncluster: {nodes: [{count: 100000}, {name: b, count: 1}]}\n",
            "x.yaml:2: cluster.nodes: are 100,001 nodes, a cluster has at most 100,000",
        ),
        (
            "name: x\nclusters:\n"
            + "".join(f"  c{index}: {{nodes: [{{count: 20000}}]}}\n" for index in range(6)),
            "x.yaml:2: clusters: have 120,000 nodes, at most 100,000 are generated",
        ),
        (
            f"name: x\ncluster: {{nodes: [{{zones: {HUGE}}}]}}\n",
            "x.yaml:2: cluster.nodes[0].zones: must be between 1 and 20,000",
        ),
        (
            f"name: x\ncluster: {{nodes: [{{name: {'n' * 300}}}]}}\n",
            "x.yaml:2: cluster.nodes[0].name: must be no more than 240 characters",
        ),
        (
            HEAD + f"workloads:\n- {{name: a, count: {HUGE}}}\n",
            "x.yaml:4: workloads[0].count: must be between 0 and 200,000",
        ),
        (
            HEAD + "workloads:\n- {name: a, count: 150000}\n- {name: b, count: 150000}\n",
            "x.yaml:3: workloads: have 300,000 pods, a run creates at most 200,000",
        ),
        (
            HEAD + f"workloads:\n- {{name: a, arrivals: {{every: 1s, count: 1, batch: {HUGE}}}}}\n",
            "x.yaml:4: workloads[0].arrivals.batch: must be between 1 and 10,000",
        ),
        (
            HEAD + "workloads:\n- {name: a, arrivals: {every: 0s, until: 1d, batch: 9000}}\n",
            "x.yaml:4: workloads[0]: a run creates at most 200,000 pods",
        ),
        (
            HEAD + f"operations:\n- {{fail: node-0, times: {HUGE}}}\n",
            "x.yaml:4: operations[0].times: must be between 1 and 10,000",
        ),
        (
            HEAD + "operations:\n" + "- {fail: node-0, times: 10000}\n" * 11,
            "x.yaml:3: operations: happen 110,000 times, at most 100,000 are read",
        ),
        (
            HEAD + "expectations:\n" + "- {bound: {equals: 1}}\n" * 1001,
            "x.yaml:3: expectations: has 1,001 entries, at most 1,000 are read",
        ),
        (
            HEAD + f"sweep: {{seeds: {list(range(900))}, profiles: {{a: {{}}, b: {{}}}}}}\n",
            "x.yaml:3: sweep: has more than 200 runs",
        ),
        (HEAD + "#" * 300_000, "x.yaml: the scenario has 300,039 bytes, at most 262,144 are read"),
    ],
)
def test_amount_is_refused_with_its_field_and_its_limit(text: str, message: str) -> None:
    source = Source(text, "x.yaml")
    began = time.process_time()
    tracemalloc.start()
    with pytest.raises(ScenarioError) as raised:
        run_scenario(load_scenario(source), source, Files())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert message in raised.value.message
    assert peak < 50 * 1024 * 1024
    assert time.process_time() - began < 10


def test_long_chain_of_workloads_is_checked_at_once() -> None:
    links = [f"- {{name: w{index}, after: w{index + 1}, count: 0}}\n" for index in range(999)]
    began = time.process_time()
    with pytest.raises(ScenarioError, match="no workload or operation is named 'w999'"):
        load_scenario(Source(f"{HEAD}workloads:\n{''.join(links)}"))
    assert time.process_time() - began < 5


def test_controllers_of_a_run_stop_at_the_limit_of_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SCENARIO_PODS", limits.Limit("pods", 3000))
    source = Source(HEAD + DEPLOYMENT % HUGE, "x.yaml")
    with pytest.raises(BadRequest, match=r"a run creates at most 3,000 pods, and there are more"):
        run_scenario(load_scenario(source), source, Files())


def test_run_that_needs_too_much_memory_ends_and_says_so() -> None:
    text = HEAD + DEPLOYMENT % 150_000
    with pytest.raises(BadRequest, match="the scenario needs more than 24 MiB of memory"):
        confined.run_confined(text, "x.yaml", {}, _ignore, memory=24 * 1024 * 1024)


def test_run_that_needs_too_much_of_a_processor_is_killed() -> None:
    text = HEAD + DEPLOYMENT % 150_000
    with pytest.raises(BadRequest, match="the scenario needs more than 1 seconds of a processor"):
        confined.run_confined(text, "x.yaml", {}, _ignore, seconds=1)


LISTS = "[" + "[]," * 80_000 + "]"


def test_check_of_a_long_text_is_killed_beyond_its_limits() -> None:
    text = f"{HEAD}workloads: [{{name: w, objects: {LISTS}}}]\n"
    with pytest.raises(BadRequest, match="needs more than 1 seconds of a processor"):
        confined.check_text(text, "x.yaml", seconds=1)
    with pytest.raises(BadRequest, match="needs more than 10 MiB of memory"):
        confined.check_text(text, "x.yaml", memory=10 * 1024 * 1024)


def test_long_text_is_checked_like_a_short_one() -> None:
    padding = "#" * 10_000
    assert confined.check_text(HEAD + padding, "x.yaml") == confined.Checked("x", 1)
    for text in (HEAD + "operations: [{fail: gone}]\n", HEAD + "workloads: [{name: *none}]\n"):
        errors = []
        for each in (text, text + padding):
            with pytest.raises(ScenarioError) as error:
                confined.check_text(each, "x.yaml")
            errors.append((error.value.message, error.value.problems))
        assert errors[0] == errors[1]


@pytest.mark.parametrize(
    "part",
    [
        "workloads: [" + "[]," * 2_600 + "]",
        "workloads: [{name: w, objects: [" + "[]," * 2_600 + "]}]",
        "operations: [" + "{fail: x}," * 800 + "]",
        "operations: [" + "".join(f"{{name: a{n}, after: a{n - 1}}}," for n in range(300)) + "]",
        "sweep: {seeds: [" + "1," * 3_900 + "]}",
        "clusters: {"
        + "".join(f"c{n}: {{nodes: [{{name: {'n' * 230}{n}, count: 20000}}]}}," for n in range(5))
        + "}\noperations: [{fail: x}]",
    ],
)
def test_short_text_takes_little_of_the_web_process(part: str) -> None:
    text = f"{HEAD if 'clusters' not in part else 'name: x'}\n{part}\n"
    assert limits.SCENARIO_INLINE.admits(len(text)) and "*" not in text
    began = time.process_time()
    with pytest.raises(ScenarioError):
        confined.check_text(text, "x.yaml")
    seconds = time.process_time() - began
    tracemalloc.start()
    with pytest.raises(ScenarioError):
        confined.check_text(text, "x.yaml")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 0.2 and most < 20_000_000


def test_cancelled_run_leaves_no_process() -> None:
    class Cancelled(Exception):
        pass

    def cancel(done: int, variation: str, seconds: float) -> None:
        raise Cancelled

    began = time.monotonic()
    with pytest.raises(Cancelled):
        confined.run_confined(HEAD + DEPLOYMENT % 150_000, "x.yaml", {}, cancel)
    assert time.monotonic() - began < 30


def _ignore(done: int, variation: str, seconds: float) -> None:
    """Nobody looks at the progress."""


@pytest.fixture
def bob(transactional_db: None) -> Client:
    """A user without a role in any cluster."""
    client = Client()
    client.force_login(User.objects.create_user("bob"))
    return client


class TestStarting:
    def test_user_without_a_role_is_told_the_limit(self, bob: Client) -> None:
        page = bob.post("/scenarios", {"scenario": NODES})
        assert page.status_code == 422
        assert "must be between 1 and 100,000" in page.content.decode()
        answer = bob.post("/api/v1/scenarios", {"scenario": NODES}, "application/json")
        assert answer.status_code == 400
        assert "cluster.nodes[0].count: must be between 1 and 100,000" in answer.json()["message"]
        assert not Operation.objects.exists()

    def test_user_has_few_scenarios_at_a_time(self, bob: Client) -> None:
        body = {"scenario": HEAD}
        for _ in range(limits.SCENARIOS.highest):
            answer = bob.post("/api/v1/scenarios", body, "application/json")
            assert answer.status_code == 202, answer.content
        refused = bob.post("/api/v1/scenarios", body, "application/json")
        assert refused.status_code == 429
        assert "4 operations of the kind scenario" in refused.json()["message"]
