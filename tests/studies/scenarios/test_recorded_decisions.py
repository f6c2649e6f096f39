"""Decisions recorded by kube-scheduler-simulator are compared with ours, plugin by plugin."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.core.management import CommandError, call_command

Body = dict[str, Any]

PREFIX = "kube-scheduler-simulator.sigs.k8s.io/"
CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {
                "multiPoint": {
                    "enabled": [
                        {"name": "PrioritySort"},
                        {"name": "DefaultBinder"},
                        {"name": "TaintToleration"},
                        {"name": "NodeResourcesFit", "weight": 2},
                    ],
                    "disabled": [{"name": "*"}],
                }
            },
        }
    ],
}
FULL = "Insufficient cpu"


def node(name: str, cpu: str) -> Body:
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "9"}
    status = {"allocatable": allocatable, "capacity": allocatable}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def pod(name: str, on: str = "", **results: Any) -> Body:
    requests = {"cpu": "2", "memory": "2Gi"}
    spec: Body = {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]}
    annotations = {
        PREFIX + key.replace("_", "-"): each if isinstance(each, str) else encode(each)
        for key, each in results.items()
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {**spec, **({"nodeName": on} if on else {})},
    }


def encode(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def results(score: dict[str, str], final: dict[str, str], selected: str) -> Body:
    """What the simulator stores if the taints are tolerated and both nodes have room."""
    passed = {"TaintToleration": "passed", "NodeResourcesFit": "passed"}
    taints = {"TaintToleration": "0"}, {"TaintToleration": "100"}
    return {
        "prefilter_result_status": {"NodeResourcesFit": "success"},
        "filter_result": dict.fromkeys(score, passed),
        "score_result": {n: {**taints[0], "NodeResourcesFit": s} for n, s in score.items()},
        "finalscore_result": {n: {**taints[1], "NodeResourcesFit": s} for n, s in final.items()},
        "selected_node": selected,
    }


#: of `first`: (4-2)/4 cpu and (8-2)/8 memory on n1, (8-2)/8 of both on n2; weight 2
FIRST = results({"n1": "62", "n2": "75"}, {"n1": "124", "n2": "150"}, "n2")
#: `second` finds `first` on n2: (8-4)/8 of both
SECOND = results({"n1": "62", "n2": "50"}, {"n1": "124", "n2": "100"}, "n1")
#: `third` finds n1 with half of its cpu: no room is left on n3, which is new
THIRD: Body = {
    "prefilter_result_status": {"NodeResourcesFit": "success"},
    "filter_result": {"n3": {"TaintToleration": "passed", "NodeResourcesFit": FULL}},
    "selected_node": "",
}


def lines(third: Body = THIRD, second: Body = SECOND) -> bytes:
    events: list[tuple[str, Body]] = [
        ("Add", node("n1", "4")),
        ("Add", node("n2", "8")),
        ("Add", pod("first")),
        ("Update", pod("first", "n2")),
        ("Update", pod("first", "n2", **FIRST)),
        ("Add", pod("second")),
        ("Update", pod("second", "n1", **second)),
        ("Delete", node("n1", "4")),
        ("Delete", node("n2", "8")),
        ("Add", node("n3", "1")),
        ("Add", pod("third")),
        ("Update", pod("third", **third)),
    ]
    records = [
        {"time": f"2026-05-01T10:00:{second:02}Z", "event": event, "resource": resource}
        for second, (event, resource) in enumerate(events)
    ]
    return b"\n".join(map(msgspec.json.encode, records))


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "record.jsonl"
    path.write_bytes(lines())
    (tmp_path / "config.json").write_text(encode(CONFIGURATION))
    return path


def compare(record: Path, **options: Any) -> str:
    out = StringIO()
    configuration = str(record.parent / "config.json")
    call_command(
        "scenario", "compare", str(record), configuration=configuration, stdout=out, **options
    )
    return out.getvalue()


def test_equal_decisions_are_counted_for_each_plugin(record: Path) -> None:
    text = compare(record)
    assert "record.jsonl: 3 decisions compared, 0 differ" in text
    assert "  Filter NodeResourcesFit: 5 compared, 0 differ" in text
    assert "  FinalScore TaintToleration: 4 compared, 0 differ" in text
    assert "  SelectedNode: 3 compared, 0 differ" in text


def test_differences_are_named_in_text_and_json(record: Path, tmp_path: Path) -> None:
    other = results({"n1": "62", "n2": "50"}, {"n1": "124", "n2": "101"}, "n2")
    passed = {"filter_result": {"n3": {"TaintToleration": "tainted", "NodeResourcesFit": "passed"}}}
    record.write_bytes(lines({**THIRD, **passed}, other))
    report = tmp_path / "report.json"
    out = StringIO()
    configuration = str(tmp_path / "config.json")
    with pytest.raises(CommandError, match="2 of 3 decisions differ") as raised:
        call_command(
            *("scenario", "compare", str(record), "--configuration", configuration),
            *("--json", str(report)),
            stdout=out,
        )
    assert raised.value.returncode == 1
    for line in (
        "default/second at 6s:",
        "  FinalScore NodeResourcesFit on n2: recorded 101, ours 100",
        "  SelectedNode: recorded n2, ours n1",
        "default/third at 11s:",
        f"  Filter NodeResourcesFit on n3: recorded passed, ours {FULL}",
        "  Filter TaintToleration on n3: recorded tainted, ours passed",
    ):
        assert line in out.getvalue().splitlines()
    (found,) = msgspec.json.decode(report.read_bytes())
    assert found["pods"][0]["differences"] == [
        {
            "point": "FinalScore",
            "plugin": "NodeResourcesFit",
            "node": "n2",
            "recorded": "101",
            "ours": "100",
        },
        {
            "point": "SelectedNode",
            "plugin": "",
            "node": "",
            "recorded": "n2",
            "ours": "n1",
        },
    ]


def test_snapshot_is_compared_with_its_own_configuration(tmp_path: Path) -> None:
    first, second = pod("b", "n2", **FIRST), pod("a", "n1", **SECOND)
    for minute, each in enumerate((first, second)):
        time = f"2026-05-01T10:0{minute}:00Z"
        condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": time}
        each["status"] = {"conditions": [condition]}
    snapshot = {
        "nodes": [node("n1", "4"), node("n2", "8")],
        "pods": [second, first],
        "schedulerConfig": CONFIGURATION,
    }
    path = tmp_path / "snapshot.json"
    path.write_text(encode(snapshot))
    out = StringIO()
    call_command("scenario", "compare", str(path), stdout=out)
    assert "2 decisions compared, 0 differ" in out.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"event": "Add"}', r"line 1: time: is required"),
        (lines({"filter_result": "{"}), r"line 12: resource\.metadata\.annotations\.\S+filter-res"),
        (
            lines(second={**SECOND, "score_result": {"n1": {"NodeResourcesFit": "high"}}}),
            r"score-result\.n1\.NodeResourcesFit: 'high' is not an integer",
        ),
        (b'{"nodes": []}', "no pod has the annotations of a recorded decision"),
    ],
)
def test_wrong_file_exits_with_2(record: Path, content: bytes, message: str) -> None:
    record.write_bytes(content)
    with pytest.raises(CommandError, match=message) as raised:
        compare(record)
    assert raised.value.returncode == 2
    assert "record.jsonl" in str(raised.value)
