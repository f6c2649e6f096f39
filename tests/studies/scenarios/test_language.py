"""Files that are wrong: every error names the line and the field, and nothing is run."""

from __future__ import annotations

import pytest

from apps.studies.importers.source_files import Files
from apps.studies.scenarios.language.reading import ScenarioError, Source
from apps.studies.scenarios.running.sweeping import load_scenario, run_scenario

HEAD = "name: x\ncluster: {nodes: [{count: 2}]}\n"
OPENB_NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,4000,8192,0,\n"
OPENB_PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time,deletion_time\n"
    "p0,3000,1,0,,,LS,100,160\np1,3000,1,0,,,LS,110,200\n"
)


def problem_of(text: str) -> str:
    source = Source(text, "x.yaml")
    with pytest.raises(ScenarioError) as raised:
        run_scenario(load_scenario(source), source, Files())
    return raised.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "x.yaml: yaml: "),
        ("name: x\n", "x.yaml:1: the field cluster, or clusters, is required"),
        (HEAD + "wrong: 1\n", "x.yaml:3: wrong: unknown field"),
        (HEAD + "duration: 3 weeks\n", "x.yaml:3: duration: '3 weeks' is not a duration"),
        (HEAD + "workloads:\n- {name: a, count: 1, at: -1}\n", "x.yaml:4: workloads[0].at: "),
        (HEAD + "workloads:\n- {name: a}\n", "x.yaml:4: workloads[0]: must have one of objects"),
        (
            HEAD + "workloads:\n- name: a\n  arrivals: {every: {sometimes: 1}, count: 2}\n",
            "x.yaml:5: workloads[0].arrivals.every: must be a duration, or an object with one of",
        ),
        (HEAD + "operations:\n- {fail: node-7}\n", "operations[0].fail: there is no node 'node-7'"),
        (
            HEAD + "operations:\n- {name: a, after: b, fail: node-0}\n"
            "- {name: b, after: a, fail: node-0}\n",
            "x.yaml:4: operations[0].after: is a cycle: a after b after a\n"
            "x.yaml:5: operations[1].after: is a cycle: b after a after b",
        ),
        (
            HEAD + "operations:\n- {scale: {kind: Deployment, name: web, replicas: 2}}\n",
            'x.yaml:4: operations[0]: deployments.apps "web" not found',
        ),
        (
            HEAD + "expectations:\n- {bound: {}}\n",
            "x.yaml:4: expectations[0].bound: must have equals, atLeast or atMost",
        ),
        (
            "name: x\ncluster:\n  configuration:\n    profiles: 7\n",
            "x.yaml:3: cluster.configuration: ",
        ),
        (
            HEAD + "workloads:\n- {name: a, trace: {format: openb, file: a.csv, speed: 0}}\n",
            "x.yaml:4: workloads[0].trace.speed: must be above 0",
        ),
        (
            HEAD + "workloads:\n- {name: a, trace: {format: openb, file: a.csv}}\n",
            "x.yaml:4: workloads[0]: the file 'a.csv' was not sent with the scenario",
        ),
        (
            HEAD + "workloads:\n- {name: a, count: 1, requests: {cpu: lots}}\n",
            'x.yaml:4: workloads[0]: Pod in version "v1" cannot be handled as a Pod: quantities',
        ),
    ],
)
def test_error_names_line_and_field(text: str, message: str) -> None:
    assert message in problem_of(text)


def test_trace_creates_and_deletes_pods_at_its_times() -> None:
    text = """\
name: openb
cluster: {imports: [{format: openb, file: nodes.csv}]}
workloads:
- {name: trace, trace: {format: openb, file: pods.csv}}
expectations:
- {name: the second waits for the first, pods: {workload: trace}, waiting: {atMost: 51s}}
- {bound: {equals: 2}}
- {running: {equals: 0}}
- {at: 30s, pending: {equals: 1}}
"""
    source = Source(text)
    files = Files(sent={"nodes.csv": OPENB_NODES.encode(), "pods.csv": OPENB_PODS.encode()})
    finished = run_scenario(load_scenario(source), source, files)
    assert [outcome.message for outcome in finished.runs[0].outcomes if not outcome.met] == []


def test_snapshot_of_cluster_autoscaler_is_a_cluster_with_its_pods() -> None:
    node = (
        '{"metadata": {"name": "n", "uid": "1"}, "status": {"allocatable": '
        '{"cpu": "2", "memory": "4Gi", "pods": "9"}}}'
    )
    spec = '"spec": {%s"containers": [{"name": "c", "image": "i"}]}'
    placed = '{"metadata": {"name": "a", "namespace": "default"}, %s}' % (
        spec % '"nodeName": "n", '
    )
    waiting = '{"metadata": {"name": "b", "namespace": "default"}, %s}' % (spec % "")
    text = (
        f'{{"NodeList": [{{"Node": {node}, "Pods": [{{"Pod": {placed}}}]}}], '
        f'"UnscheduledPodsCanBeScheduled": [{waiting}]}}'
    )
    source = Source(
        "name: x\ncluster: {imports: [{format: cluster-autoscaler, file: a.json}]}\n"
        "expectations: [{running: {equals: 2}}, {nodesUsed: {equals: 1}}]\n"
    )
    finished = run_scenario(load_scenario(source), source, Files(sent={"a.json": text.encode()}))
    assert finished.passed
