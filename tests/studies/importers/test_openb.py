"""Importing the openb trace, and its placements."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from apps.administration.clusters.lifecycle import create_cluster
from apps.administration.operations.traces import load
from apps.cluster import kinds, queries
from apps.cluster.models import Cluster, Node, Pod
from apps.cluster.writes import Actor
from apps.engine.loop.engines import Engines
from apps.studies.importers import openb
from apps.studies.importers.openb import TraceFile
from tests.openb_trace import write_trace

ACTOR = Actor("tests")
NODES = "sn,cpu_milli,memory_mib,gpu,model\n"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n"


@pytest.fixture
def cluster(transactional_db: None) -> Cluster:
    return create_cluster("trace", user="tests", paused=True, tie_break="first-name")


def files(folder: Path, nodes: str, pods: str) -> tuple[Path, Path]:
    node_file, pod_file = folder / "nodes.csv", folder / "pods.csv"
    node_file.write_text(NODES + nodes)
    pod_file.write_text(PODS + pods)
    return node_file, pod_file


def test_rows_become_nodes_and_pods_as_documented(cluster: Cluster, tmp_path: Path) -> None:
    paths = files(
        tmp_path, "n0,32000,262144,2,T4\n", "p0,6000,12288,1,460,T4|P100,LS\np1,500,64,2,,,BE\n"
    )
    assert load(cluster, *map(TraceFile.read, paths), actor=ACTOR) == (1, 2)
    node = queries.get(cluster, kinds.NODE, "", "n0")
    assert node["status"]["allocatable"] == {
        "cpu": "32",
        "memory": "256Gi",
        "pods": "110",
        openb.GPU_RESOURCE: "2k",
    }
    assert node["metadata"]["labels"][openb.GPU_MODEL_LABEL] == "T4"
    shared = queries.get(cluster, kinds.POD, "default", "p0")
    requests = shared["spec"]["containers"][0]["resources"]["requests"]
    assert requests[openb.GPU_RESOURCE] == "460"
    terms = shared["spec"]["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]["nodeSelectorTerms"]
    assert terms[0]["matchExpressions"][0]["values"] == ["T4", "P100"]
    assert shared["metadata"]["labels"] == {openb.QOS_LABEL: "LS"}
    whole = queries.get(cluster, kinds.POD, "default", "p1")["spec"]["containers"][0]
    assert whole["resources"]["requests"][openb.GPU_RESOURCE] == "2k"


def test_gpus_can_be_devices_that_pods_share(cluster: Cluster, tmp_path: Path) -> None:
    pods = (
        "half,1000,64,1,500,,LS\nother,1000,64,1,500,T4,LS\npair,1000,64,2,1000,,LS\n"
        "rest,1000,64,1,500,T4|P100,LS\nlate,1000,64,1,100,P100,LS\ncpu,500,64,0,,,BE\n"
    )
    paths = files(tmp_path, "n0,32000,262144,2,T4\nn1,32000,262144,2,A100\n", pods)
    loaded = load(cluster, *map(TraceFile.read, paths), actor=ACTOR, gpu_devices=True)
    assert loaded == (2, 6)
    templates = queries.list_objects(cluster, kinds.by_name("ResourceClaimTemplate"))
    names = {each["metadata"]["name"] for each in templates.items}
    assert names == {
        "gpu-1x500",
        "gpu-1x500-t4",
        "gpu-1x500-p100-t4",
        "gpu-2x1000",
        "gpu-1x100-p100",
    }
    assert (
        openb.GPU_RESOURCE not in queries.get(cluster, kinds.NODE, "", "n0")["status"]["capacity"]
    )
    Cluster.objects.filter(pk=cluster.pk).update(paused=False)
    Engines().run(cluster.pk)
    nodes = dict(Pod.objects.filter(cluster=cluster).values_list("name", "node_name"))
    assert nodes["other"] == nodes["rest"] == "n0" and nodes["cpu"]
    assert nodes["late"] == "" and nodes["pair"] == "n1"
    used = [
        (result["pool"], result["device"], result["consumedCapacity"])
        for claim in queries.list_objects(cluster, kinds.by_name("ResourceClaim")).items
        if claim["metadata"]["name"].startswith("pair")
        for result in claim["status"]["allocation"]["devices"]["results"]
    ]
    assert used == [("n1", f"gpu-{index}", {"milli": "1k"}) for index in range(2)]


@pytest.mark.parametrize(
    ("nodes", "pods", "message"),
    [
        ("n0,x,1,0,\n", "", r"nodes\.csv, line 2: column cpu_milli: 'x'"),
        ("n0,1,1,0,\n,1,1,0,\n", "", r"nodes\.csv, line 3: column sn is empty"),
        ("n0,1,1,0,\n", "p0,1,-5,0,,,LS\n", r"pods\.csv, line 2: column memory_mib: '-5'"),
        ("n0,1,1,0,\n", "p0,1\n", r"pods\.csv, line 2: column memory_mib: None"),
        ("n0,1,1,0,\n", "p0,1,1,0,,,LS\np0,1,1,0,,,LS\n", r"line 3: pods \"p0\" already exists"),
        ("n0,1,1,0,\n", "Bad_Name,1,1,0,,,LS\n", r"pods\.csv, line 2: .*metadata\.name"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_imported(
    cluster: Cluster, tmp_path: Path, nodes: str, pods: str, message: str
) -> None:
    with pytest.raises(openb.TraceError, match=message):
        load(cluster, *map(TraceFile.read, files(tmp_path, nodes, pods)), actor=ACTOR)
    assert not Node.objects.filter(cluster=cluster).exists()
    assert not Pod.objects.filter(cluster=cluster).exists()


def test_a_file_without_a_column_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    node_file, pod_file = files(tmp_path, "", "")
    pod_file.write_text("name,cpu_milli\n")
    with pytest.raises(openb.TraceError, match="line 1: missing columns memory_mib, num_gpu"):
        load(cluster, *map(TraceFile.read, (node_file, pod_file)), actor=ACTOR)


def test_the_trace_is_scheduled_and_printed_as_placements(cluster: Cluster, tmp_path: Path) -> None:
    nodes, pods = write_trace(tmp_path, nodes=60, pods=400)
    call_command("load_openb", "trace", nodes=nodes, pods=pods, stdout=io.StringIO())
    Cluster.objects.filter(pk=cluster.pk).update(paused=False)
    assert Engines().run(cluster.pk) is False
    call_command("wait", "trace", timeout=1, stdout=io.StringIO())
    printed = io.StringIO()
    call_command("placements", "trace", stdout=printed)
    rows = list(csv.DictReader(io.StringIO(printed.getvalue())))
    assert [row["pod"] for row in rows] == [f"trace-pod-{number:04}" for number in range(400)]
    bound = [row for row in rows if row["node"]]
    unbound = [row for row in rows if not row["node"]]
    assert len(bound) > 100 and len(unbound) >= 8
    assert all(int(row["total_score"]) and int(row["tied_nodes"]) >= 1 for row in bound)
    assert all(row["message"].startswith("0/60 nodes are available: ") for row in unbound)


def test_waiting_ends_with_an_error_after_the_timeout(cluster: Cluster, tmp_path: Path) -> None:
    paths = files(tmp_path, "n0,1000,1,0,\n", "p0,1,1,0,,,LS\n")
    load(cluster, *map(TraceFile.read, paths), actor=ACTOR)
    with pytest.raises(CommandError, match="is not quiet after 0"):
        call_command("wait", "trace", timeout=0, stdout=io.StringIO())
