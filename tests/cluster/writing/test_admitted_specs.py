"""A pod whose spec was admitted before equals one that is admitted from the start."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import encode as json_encode

from apps.cluster import kinds
from apps.cluster.errors import ApiError
from apps.cluster.writes import Actor
from apps.cluster.writing import admitted_specs
from apps.cluster.writing.admitted_specs import AdmittedSpecs
from apps.cluster.writing.creation import Creation, prepare, prepare_known
from apps.cluster.writing.memory import AdmissionState
from apps.cluster.writing.sent_pods import read_pod

Body = dict[str, Any]

CONTAINER = {"name": "c", "image": "pause"}
KEYED = {"labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["app"]}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
SPECS: tuple[Any, ...] = (
    {"containers": [CONTAINER]},
    {"containers": [{**CONTAINER, "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}}}]},
    {"containers": [{**CONTAINER, "resources": {"limits": {"memory": "100m"}}}]},
    {"containers": [{**CONTAINER, "resources": {"limits": {"example.com/gpu": 1}}}]},
    {"containers": [CONTAINER], "priorityClassName": "high"},
    {"containers": [CONTAINER], "priorityClassName": "missing"},
    {"containers": [CONTAINER], "runtimeClassName": "kata"},
    {"containers": [CONTAINER], "priority": 7},
    {"containers": [CONTAINER], "schedulingGates": [{"name": "example.com/wait"}]},
    {"containers": [CONTAINER], "nodeSelector": {"beta.kubernetes.io/os": "linux"}},
    {
        "containers": [CONTAINER],
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", **KEYED}
        ],
    },
    {
        "containers": [CONTAINER],
        "affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone", **KEYED}]}},
    },
    {"containers": []},
    {},
)
METADATA = st.fixed_dictionaries(
    {"name": st.sampled_from(["p", "p", "a.b", "Wrong_", ""])},
    optional={
        "generateName": st.sampled_from(["p-", "p-", "", "Wrong"]),
        "labels": st.sampled_from([{"app": "x"}, {"app": "y", "b": "c"}, {}, {"-": "x"}]),
        "annotations": st.sampled_from(
            [{}, {"note": "é"}, {"scheduler.alpha.kubernetes.io/critical-pod": ""}]
        ),
        "finalizers": st.sampled_from([[], [], ["example.com/x"], ["wrong one"]]),
        "ownerReferences": st.sampled_from(
            [
                [],
                [],
                [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}],
                [{"kind": "X"}],
            ]
        ),
    },
)
STATUSES = st.sampled_from([None, {}, {"phase": "Running"}])
PLUGINS: tuple[Body, ...] = (
    {},
    {"LimitPodHardAntiAffinityTopology": {}, "ExtendedResourceToleration": {}},
    {"DedicatedNodes": {"groups": {"g": {"namespaces": ["team"], "users": ["alice"]}}}},
    {"PodTolerationRestriction": {}},
)


def named(name: str, **fields: Any) -> Body:
    return {"metadata": {"name": name}, **fields}


def state_with(plugins: Body, default_class: bool) -> AdmissionState:
    tolerations = '[{"key": "spot", "operator": "Exists"}]'
    team = named("team")
    team["metadata"]["annotations"] = {
        "scheduler.alpha.kubernetes.io/defaultTolerations": tolerations
    }
    limits = [{"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}}]
    high = named("high", value=1000, globalDefault=default_class)
    kata = named("kata", overhead={"podFixed": {"cpu": "250m"}})
    return AdmissionState(
        cluster_id=1,
        api_gates=(),
        admission_version=1,
        admission_plugins=plugins,
        controllers=True,
        paused=False,
        is_simple=True,
        namespaces={"default": named("default"), "team": team},
        priority_classes={"high": high},
        runtime_classes={"kata": kata},
        limit_ranges_of={"team": [named("cpu", spec={"limits": limits})]},
        _default_priority_class=high if default_class else None,
        _default_storage_class=None,
    )


STATES = tuple(state_with(plugins, default) for plugins in PLUGINS for default in (False, True))


@st.composite
def similar_pods(draw: st.DrawFn) -> list[tuple[Body, str, str, AdmissionState]]:
    """Bodies with the same spec, the members in any order; namespaces, users, a state."""
    spec, state = draw(st.sampled_from(SPECS)), draw(st.sampled_from(STATES))
    found = []
    for _ in range(draw(st.integers(4, 8))):
        members: Body = {"metadata": draw(METADATA), "spec": spec}
        status = draw(STATUSES)
        if status is not None:
            members["status"] = status
        body = {name: members[name] for name in draw(st.permutations(sorted(members)))}
        namespace = draw(st.sampled_from(["default"] * 4 + ["team", "missing"]))
        user = draw(st.sampled_from(["alice", "bob"]))
        found.append((body, namespace, user, state))
    return found


def outcome(
    pod: Body,
    namespace: str,
    user: str,
    state: AdmissionState,
    specs: AdmittedSpecs,
    *,
    as_text: bool = False,
) -> tuple[Any, ...]:
    """All that is stored and answered, without what is different for every pod.

    With `as_text`, the spec is not parsed if it can be found by its text; empty if it cannot.
    """
    shared: Any = {"state": state, "actor": Actor(user, "request"), "specs": specs}
    try:
        if as_text:
            sent = read_pod(json_encode({"kind": "Pod", "apiVersion": "v1", **pod}))
            known = prepare_known(sent, namespace, **shared) if sent is not None else None
            if known is None:
                return ()
            creation = known
        else:
            creation = prepare(kinds.POD, copy.deepcopy(pod), namespace, **shared)
    except ApiError as refusal:
        status = json.dumps(refusal.status())
        prefix = (pod["metadata"] or {}).get("generateName")
        return (refusal.code, status if not prefix else refusal.reason)
    same = ("creationTimestamp", "uid", "name")
    text = json.loads(creation.text(5))
    body = {**creation.body, "metadata": {**creation.body["metadata"], "resourceVersion": "5"}}
    assert text == body
    given = pod["metadata"].get("name")
    assert creation.key[1].startswith(given or pod["metadata"]["generateName"])
    text["metadata"] = {n: v for n, v in text["metadata"].items() if n not in same}
    for condition in text["status"].get("conditions", ()):
        assert condition.pop("lastTransitionTime") == body["metadata"]["creationTimestamp"]
    # as text: the order of the members, too
    return json.dumps(text), dict(creation.columns), creation.labels, creation.warnings


@given(similar_pods())
def test_a_spec_that_was_admitted_before_changes_nothing(
    requests: list[tuple[Body, str, str, AdmissionState]],
) -> None:
    specs = AdmittedSpecs()
    for pod, namespace, user, state in requests:
        for _ in range(2):
            shared = outcome(pod, namespace, user, state, specs)
            assert shared == outcome(pod, namespace, user, state, AdmittedSpecs())
        assert outcome(pod, namespace, user, state, specs, as_text=True) in ((), shared)


def create(specs: AdmittedSpecs, state: AdmissionState, **spec: Any) -> Creation:
    body = {"metadata": {"name": "p"}, "spec": {"containers": [dict(CONTAINER)], **spec}}
    return prepare(kinds.POD, body, "default", state=state, actor=Actor("a"), specs=specs)


@pytest.fixture
def specs() -> Iterator[AdmittedSpecs]:
    yield AdmittedSpecs()


def test_pods_of_one_workload_share_a_spec(specs: AdmittedSpecs) -> None:
    first, second = create(specs, STATES[0]), create(specs, STATES[0])
    assert first.body["spec"] is second.body["spec"]
    assert first.uid != second.uid
    assert len(specs) == 1


def test_the_text_of_a_known_spec_is_not_parsed(specs: AdmittedSpecs) -> None:
    before = create(specs, STATES[0])
    text = json_encode(
        {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "q"}}
        | {"spec": {"containers": [CONTAINER]}, "status": {}}
    )

    def known(raw: bytes) -> Creation | None:
        sent = read_pod(raw)
        shared: Any = {"state": STATES[0], "actor": Actor("a"), "specs": specs}
        return prepare_known(sent, "default", **shared) if sent is not None else None

    for raw in (text, text + b"\n"):
        pod = known(raw)
        assert pod is not None
        assert pod.body["spec"] is before.body["spec"]
        assert pod.key == ("default", "q")
    for other in (
        text.replace(b"pause", b"other"),
        text.replace(b'"kind":"Pod"', b'"kind":"Pod","kind":"Pod"'),
        text.replace(b'"status":{}', b'"spec":{"containers":[]}'),
        text.replace(b'"status":{}', b'"status":{"phase":"Failed"}'),
        text.replace(b'"status":{}', b'"extra":{}'),
        text.replace(b',"status":{}', b"").replace(b'"spec"', b'"status":{},"spec"'),
        text.replace(b'"name":"q"', b'"name":"x","name":"q"'),
        text.replace(b'"name":"q"', b'"name":"q","shape":"round"'),
        text.replace(b'"name":"q"', b'"name":7'),
        text.replace(b'"name":"q"', b'"name":"\\u0000"'),
        text.replace(b'"v1"', b'"v2"'),
        text.replace(b",", b", "),
        text[:-1],
        b"[]",
    ):
        assert known(other) is None


def test_selectors_contain_the_labels_of_each_pod(specs: AdmittedSpecs) -> None:
    def values(label: str) -> Any:
        constraint = SPECS[10]["topologySpreadConstraints"][0]
        body = {
            "metadata": {"name": "p", "labels": {"app": label}},
            "spec": copy.deepcopy({**SPECS[0], "topologySpreadConstraints": [constraint]}),
        }
        pod = prepare(
            kinds.POD, body, "default", state=STATES[0], actor=Actor("a"), specs=specs
        ).body
        selector = pod["spec"]["topologySpreadConstraints"][0]["labelSelector"]
        return selector["matchExpressions"][0]["values"]

    assert [values("x"), values("y"), values("x")] == [["x"], ["y"], ["x"]]
    assert len(specs) == 2


def test_another_state_admits_the_spec_again(specs: AdmittedSpecs) -> None:
    before = STATES[0]
    assert create(specs, before).body["spec"]["priority"] == 0
    after = replace(STATES[1], identity=object())
    assert create(specs, after).body["spec"]["priority"] == 1000
    specs.drop(before)
    assert len(specs) == 1


def test_the_number_and_the_size_of_specs_are_limited(
    specs: AdmittedSpecs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admitted_specs, "MOST_SPECS", 3)
    kept = [create(specs, STATES[0], hostname=f"h{number}") for number in range(5)]
    assert len(specs) == 3
    assert create(specs, STATES[0], hostname="h4").body["spec"] is kept[4].body["spec"]
    assert create(specs, STATES[0], hostname="h0").body["spec"] is not kept[0].body["spec"]
    monkeypatch.setattr(admitted_specs, "MOST_BYTES", 3000)
    create(specs, STATES[0], nodeSelector={f"key{n}": "v" * 60 for n in range(10)})
    assert len(specs) <= 2
    create(specs, STATES[0], nodeSelector={f"key{n}": "v" * 60 for n in range(500)})
    assert len(specs) <= 2
