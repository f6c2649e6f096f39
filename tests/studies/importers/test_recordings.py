"""Recordings of other systems become workloads: what is replayed, and what is wrong with a file."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from apps.cluster.manifests.places import ManifestError
from apps.studies.importers.registry import IMPORTS, RECORDINGS
from apps.studies.importers.source_files import Files
from apps.studies.scenarios.language.reading import ScenarioError, Source
from apps.studies.scenarios.language.types import Import, Trace
from apps.studies.scenarios.running.run import FinishedRun
from apps.studies.scenarios.running.sweeping import load_scenario, run_scenario

Body = dict[str, Any]

KWOK = """\
apiVersion: v1
kind: Node
metadata: {name: n1, uid: old, creationTimestamp: $(time-offset-nanosecond -60000000000)}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "9"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: left-out, namespace: default}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, uid: old-deployment}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: i, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-1
  namespace: shop
  ownerReferences:
  - {apiVersion: apps/v1, kind: Deployment, name: web, uid: x, controller: true}
spec: {selector: {matchLabels: {app: web}}}
---
apiVersion: action.kwok.x-k8s.io/v1alpha1
kind: ResourcePatch
resource: {group: apps, version: v1, resource: deployments}
target: {name: web, namespace: shop}
durationNanosecond: 10000000000
method: patch
template: {spec: {replicas: 3}}
---
apiVersion: action.kwok.x-k8s.io/v1alpha1
kind: ResourcePatch
resource: {group: coordination.k8s.io, version: v1, resource: leases}
target: {name: n1, namespace: kube-node-lease}
durationNanosecond: 15000000000
method: patch
template: {spec: {renewTime: $(time-offset-nanosecond 15000000000)}}
---
apiVersion: action.kwok.x-k8s.io/v1alpha1
kind: ResourcePatch
resource: {version: v1, resource: nodes}
target: {name: n2}
durationNanosecond: 20000000000
method: create
template:
  apiVersion: v1
  kind: Node
  metadata: {name: n2}
  status: {allocatable: {cpu: "1", memory: 4Gi, pods: "9"}}
---
apiVersion: action.kwok.x-k8s.io/v1alpha1
kind: ResourcePatch
resource: {group: apps, version: v1, resource: deployments}
target: {name: web, namespace: shop}
durationNanosecond: 30000000000
method: delete
"""


def node(name: str, cpu: str = "2") -> Body:
    allocatable = {"cpu": cpu, "memory": "4Gi", "pods": "9"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "status": {"allocatable": allocatable, "capacity": allocatable},
    }


def pod(name: str, on: str = "", **status: Any) -> Body:
    resources = {"requests": {"cpu": "1"}}
    spec: Body = {"containers": [{"name": "main", "image": "i", "resources": resources}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {**spec, **({"nodeName": on} if on else {})},
        "status": status,
    }


def record(second: int, event: str, resource: Body) -> bytes:
    time = f"2026-05-01T10:00:{second:02}.123456789Z"
    return msgspec.json.encode({"time": time, "event": event, "resource": resource}) + b"\n"


#: `b` was created while `a` had the only room, and started when `a` had succeeded.
RECORD = b"".join(
    (
        record(0, "Add", node("n1", "1")),
        record(1, "Add", pod("a")),
        record(2, "Update", pod("a", "n1")),
        record(3, "Add", pod("b")),
        record(12, "Update", pod("a", "n1", phase="Succeeded")),
        record(13, "Update", pod("b", "n1")),
        record(20, "Update", node("n1", "4")),
        record(30, "Delete", pod("b")),
    )
).decode()


def run(trace: str, content: str, expectations: str = "", nodes: str = "") -> FinishedRun:
    cluster = f"{{nodes: [{nodes}]}}" if nodes else "{}"
    text = (
        f"name: x\nduration: 1m\ncluster: {cluster}\nworkloads:\n"
        f"- {{name: w, trace: {{{trace}, file: f}}}}\nexpectations: [{expectations}]\n"
    )
    source = Source(text, "x.yaml")
    return run_scenario(load_scenario(source), source, Files(sent={"f": content.encode()})).runs[0]


def failures(finished: FinishedRun) -> list[str]:
    return [f"{each.name}: {each.message}" for each in finished.outcomes if not each.met]


def test_recording_of_kwok_is_replayed_with_its_controllers() -> None:
    expectations = (
        "{at: 5s, running: {equals: 1}}, {at: 15s, running: {equals: 2}},"
        "{at: 15s, pending: {equals: 1}}, {at: 25s, running: {equals: 3}}, {running: {equals: 0}},"
        "{created: {equals: 3}, pods: {workload: w, namespace: shop}}"
    )
    assert failures(run("format: kwok", KWOK, expectations)) == []


def test_objects_at_the_start_of_a_kwok_recording_are_a_cluster() -> None:
    source = Source(
        "name: x\ncluster: {imports: [{format: kwok, file: f}]}\n"
        "expectations: [{running: {equals: 1}}, {created: {equals: 1}}]\n"
    )
    finished = run_scenario(load_scenario(source), source, Files(sent={"f": KWOK.encode()}))
    assert failures(finished.runs[0]) == []


def test_record_of_the_simulator_has_lifetimes_and_is_scheduled_again() -> None:
    finished = run("format: kube-scheduler-simulator", RECORD)
    pods = {each.name: each for each in finished.recorder.pods.values()}
    assert (pods["a"].bound_at, pods["a"].ended_at, pods["a"].phase) == (1, 11, "Succeeded")
    assert pods["b"].created_at == 3
    assert pods["b"].bound_at is not None and 11 <= pods["b"].bound_at < 20
    assert pods["b"].ended_at == 30


def test_pods_of_a_recorded_job_run_as_long_as_they_did() -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "sum", "namespace": "default"},
        "spec": {"template": {"spec": {**pod("x")["spec"], "restartPolicy": "Never"}}},
    }
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "sum", "uid": "u", "controller": True}
    running, done = pod("sum-1", "n1"), pod("sum-1", "n1", phase="Succeeded")
    for each in (running, done):
        each["metadata"]["ownerReferences"] = [owner]
    content = b"".join(
        (
            record(0, "Add", node("n1")),
            record(0, "Add", pod("over", "n1", phase="Succeeded")),
            record(1, "Add", job),
            record(2, "Add", running),
            record(22, "Update", done),
        )
    )
    (only,) = run("format: kube-scheduler-simulator", content.decode()).recorder.pods.values()
    assert only.name.startswith("sum-") and (only.created_at, only.ended_at) == (1, 21)


def test_recorded_placement_puts_pods_where_they_were() -> None:
    trace = "format: kube-scheduler-simulator, placement: recorded"
    finished = run(trace, RECORD, nodes="{count: 2, cpu: 8}")
    pods = {each.name: each for each in finished.recorder.pods.values()}
    assert {(each.node, each.created_at) for each in pods.values()} == {("n1", 2), ("n1", 13)}


SIMKUBE: Body = {
    "version": 2,
    "config": {"trackedObjects": {"batch/v1.Job": {"podSpecTemplatePaths": ["/spec/template"]}}},
    "events": [
        {
            "ts": 1_700_000_000,
            "applied_objs": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "metadata": {"name": "sum", "namespace": "sums"},
                    "spec": {
                        "template": {
                            "spec": {
                                "restartPolicy": "Never",
                                "containers": [{"name": "main", "image": "i"}],
                            }
                        }
                    },
                }
            ],
            "deleted_objs": [],
        },
        {
            "ts": 1_700_000_040,
            "applied_objs": [],
            "deleted_objs": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "metadata": {"name": "sum", "namespace": "sums"},
                }
            ],
        },
    ],
    "index": {},
}
LIFECYCLES = {18161541283955474812: [{"start_ts": 100, "end_ts": 115}, {"start_ts": 120}]}


def test_trace_of_simkube_has_the_lifetimes_of_its_owners() -> None:
    by_pair = {**SIMKUBE, "pod_lifecycles": {("batch/v1.Job", "sums/sum"): LIFECYCLES}}
    as_text = {**SIMKUBE, "pod_lifecycles": {'["batch/v1.Job", "sums/sum"]': LIFECYCLES}}
    binary = base64.b64encode(msgspec.msgpack.encode(by_pair)).decode()
    expectations = (
        "{at: 10s, running: {equals: 1}}, {at: 20s, succeeded: {equals: 1}}, {running: {equals: 0}}"
    )
    for content in (binary, msgspec.json.encode(as_text).decode()):
        finished = run("format: simkube", content, expectations, "{count: 1}")
        assert failures(finished) == []
        (only,) = finished.recorder.pods.values()
        assert only.ended_at == 15


def changed(**fields: Any) -> str:
    return msgspec.json.encode({**SIMKUBE, "pod_lifecycles": {}, **fields}).decode()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("kwok", "a: [", "f: yaml: "),
        ("kwok", KWOK.replace("method: delete", "method: drop"), "f: document 8: method: must be"),
        (
            "kwok",
            KWOK.replace("Nanosecond: 10000000000", "Nanosecond: soon"),
            "f: document 5: durationNanosecond: must be a number",
        ),
        (
            "kwok",
            KWOK.replace("target: {name: web, namespace: shop}", "target: {name: api}", 1),
            'f: document 5: target: deployments.apps "api" is patched before it is created',
        ),
        (
            "kwok",
            KWOK.replace("Nanosecond: 10000000000", "Nanosecond: 1.0e+30"),
            "f: document 5: template: is more than 366 days after the start of the recording",
        ),
        ("kwok", KWOK.replace("kind: Node\n", "", 1), "f: document 1: kind: is required"),
        (
            "kwok",
            KWOK.replace("replicas: 3", "replicas: many"),
            "workloads[0]: f: document 5: template: ",
        ),
        ("kube-scheduler-simulator", "{}\n[]", "f: line 1: time: is required"),
        (
            "kube-scheduler-simulator",
            RECORD.replace("2026-05-01T10:00:01.123456789Z", "ten"),
            "f: line 2: time: 'ten' is not a time",
        ),
        (
            "kube-scheduler-simulator",
            RECORD.replace('"event":"Delete"', '"event":"Gone"'),
            "f: line 8: event: must be Add, Update or Delete, not 'Gone'",
        ),
        (
            "kube-scheduler-simulator",
            RECORD.replace('"name":"n1"', '"title":"n1"', 1),
            "f: line 1: resource.metadata.name: is required",
        ),
        (
            "kube-scheduler-simulator",
            RECORD.replace('"cpu":"1"}}}]}', '"cpu":"lots"}}}]}', 1),
            "workloads[0]: f: line 2: resource: Pod",
        ),
        ("simkube", changed(version=1), "f: version: must be 2, not 1"),
        ("simkube", changed(events=[{"ts": "x"}]), "f: events[0].ts: must be a number"),
        (
            "simkube",
            changed(events=[{"ts": 1, "applied_objs": [{"kind": "Pod"}]}]),
            "f: events[0].applied_objs[0].apiVersion: is required",
        ),
        (
            "simkube",
            changed(pod_lifecycles={"web": {}}),
            "f: pod_lifecycles: every key must be a pair",
        ),
        ("simkube", "not msgpack", "f: this is n"),
    ],
)
def test_error_names_file_and_field(name: str, content: str, message: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        run(f"format: {name}", content)
    assert message in raised.value.message
    assert raised.value.message.startswith("x.yaml:5: workloads[0]: f")


def test_a_scenario_may_name_each_format_that_has_an_importer() -> None:
    assert set(get_args(get_type_hints(Import)["format"])) == set(IMPORTS)
    assert set(get_args(get_type_hints(Trace)["format"])) == set(RECORDINGS)


def test_objects_of_a_dump_are_created_once_by_their_owners() -> None:
    """As those of recordings: the recorded pods and ReplicaSet of the Deployment are left out."""
    archive = Path("tests/administration/clusters/data/cluster-info-dump.tar.gz").read_bytes()
    found = [(kind.name, body["metadata"]["name"]) for kind, body in IMPORTS["yaml"](archive, "d")]
    names = [name for _, name in found if name.startswith(("web", "agent", "n1", "n2"))]
    assert sorted(names) == ["agent", "n1", "n2", "web"]
    assert ("Namespace", "shop") in found
    with pytest.raises(ManifestError, match="d: document 1, line 1: kind is required"):
        IMPORTS["yaml"](b"apiVersion: v1", "d")
