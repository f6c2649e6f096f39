"""An altered answer is a mismatch, and a case that cannot be compared an error."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from apps.administration.management.commands.conformance import ADMISSION
from apps.conformance.kinds import KINDS, compare_case
from apps.conformance.options import Options
from apps.conformance.runner import read_cases

DATA = Path(__file__).parent / "data"
ALL = (*KINDS, ADMISSION)
#: fields whose keys are names of nodes, plugins, profiles or events
MAPS = {"filter", "scores", "plugins", "candidates", "nodeStatus", "hints", "profiles", "nominated"}
#: the text comes from Go's decoder: only that there is one is compared
TEXTS = {"configError"}
#: given by the recorder
UNCOMPARED = {"id", "uid"}
#: per file, fields of a case that must be among those altered
FAMILIES = {
    "preemption": {
        "pods[].postFilter.victims[]",
        "pods[].postFilter.candidates.*.pdbViolations",
        "pods[].postFilter.ties[]",
        "pods[].messageWithPostFilter",
    },
    "worked": {"pods[].scores.*.total", "pods[].scores.*.plugins.*[]", "pods[].filter.*.reasons[]"},
    "volumes": {"pods[].unschedulablePlugins[]", "pods[].preFilter.reasons[]"},
    "profiles": {"profiles.*.*[]", "pods[].node", "pods[].ignored", "pods[].error"},
    "nominated": {"pods[].nominatedNodeFastPath", "pods[].postFilter.nominatedNode"},
    "configerrors": {"configError"},
    "schedulinggates": {"pods[].preEnqueue.reasons[]"},
    "queue": {"states[].backoff[][]", "states[].nominated.*[]", "states[].popped.attempts"},
    "hints": {"results[].hints.*.NodeAffinity", "results[].events[]"},
    "apidefaults": {"pod.spec.priority", "pod.spec.tolerations[].effect"},
}


def answers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every leaf of a recorded answer with its path; an empty list or object is a leaf."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            if key not in UNCOMPARED:
                yield from answers(item, (*path, key))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from answers(item, (*path, index))
    else:
        yield path, value


def field_of(path: tuple[Any, ...]) -> str:
    """The path without indices and without names: pods[].scores.*.total."""
    text = ""
    for above, step in zip((None, *path), path, strict=False):
        name = "*" if above in MAPS or text == ".profiles.*" else step
        text += "[]" if isinstance(step, int) else f".{name}"
    return text.removeprefix(".")


def altered(expect: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(expect)
    *above, last = path
    parent: Any = changed
    for step in above:
        parent = parent[step]
    if last in TEXTS:
        del parent[last]
    elif isinstance(value, bool):
        parent[last] = not value
    elif isinstance(value, int | float):
        parent[last] = value + 1
    else:
        parent[last] = {"x": "x"} if isinstance(value, dict) else "another answer"
    return changed


@pytest.mark.parametrize("family", FAMILIES)
def test_an_altered_answer_is_found_whatever_its_field(family):
    seen: set[str] = set()
    unnoticed = []
    for case, expect in read_cases(DATA / f"{family}.jsonl.gz"):
        for path, value in answers(expect):
            field = field_of(path)
            if field in seen:
                continue
            seen.add(field)
            if not compare_case(case, altered(expect, path, value), Options(), ALL):
                unnoticed.append(f"{case['id']} {field}")
    assert unnoticed == []
    assert seen >= FAMILIES[family]


def test_a_node_that_was_evaluated_in_one_of_both_alone_is_a_difference() -> None:
    case, expect = next(read_cases(DATA / "fresh" / "sample250-s4.jsonl.gz"))
    filtered = expect["pods"][0]["filter"]
    passed = next(node for node, status in filtered.items() if status is None)
    more, less = copy.deepcopy(expect), copy.deepcopy(expect)
    more["pods"][0]["filter"]["another"] = None
    del less["pods"][0]["filter"][passed]
    for changed, node in ((more, "another"), (less, passed)):
        [difference] = compare_case(case, changed, Options(), ALL)
        assert f"filter[{node}]" in difference


def write(path: Path, case: Any, expect: Any) -> Path:
    with gzip.open(path, "wt") as lines:
        lines.write(json.dumps({"case": case, "expect": expect}) + "\n")
    return path


POD = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": []}}
NODE = {"kind": "Node", "metadata": {"name": "n"}}


@pytest.mark.parametrize(
    ("case", "expect", "reason"),
    [
        ({"objects": [NODE], "pods": []}, {"pods": []}, "nothing was compared"),
        ({"objects": [NODE], "pods": [POD]}, {}, "nothing was compared"),
        ({"steps": [{"op": "cycle"}]}, {"states": [{"popped": []}]}, "nothing was compared"),
        ({"objects": [], "pods": [POD], "featureGates": {}}, {"pods": [{}]}, "featureGates"),
        ({"objects": [], "pods": []}, {"pods": [{}], "latency": 3}, "latency"),
        ({"objects": [{"kind": "Widget"}], "pods": [POD]}, {"pods": [{}]}, "Widget"),
        ({"objects": [], "pods": [POD]}, {"pods": [{}, {}]}, "comparison failed"),
    ],
)
def test_a_case_that_is_not_compared_fails_the_command_and_is_named(tmp_path, case, expect, reason):
    file = write(tmp_path / "noderesources.jsonl.gz", {"id": "odd-1", **case}, expect)
    output = StringIO()
    with pytest.raises(SystemExit) as exit_:
        call_command("conformance", str(file), stdout=output)
    assert exit_.value.code == 1
    named, family, _ = output.getvalue().splitlines()
    assert named.startswith("odd-1: ")
    assert reason in named
    assert family == "noderesources: 1 cases, 1 mismatches"


def test_a_family_is_compared_by_what_it_contains_not_by_its_name(tmp_path):
    case, expect = next(read_cases(DATA / "queue.jsonl.gz"))
    expect["states"][3]["active"] = ["default/another"]
    file = write(tmp_path / "unheard-of.jsonl.gz", case, expect)
    output = StringIO()
    with pytest.raises(SystemExit):
        call_command("conformance", str(file), stdout=output)
    assert f"{case['id']} step 3" in output.getvalue()


def test_folders_and_files_without_cases_are_refused(tmp_path):
    with pytest.raises(CommandError, match=r"no \*\.jsonl\.gz below this folder"):
        call_command("conformance", str(DATA / "nodename.jsonl.gz"), str(tmp_path))
    empty = tmp_path / "empty.jsonl.gz"
    empty.write_bytes(gzip.compress(b""))
    broken = tmp_path / "broken.jsonl.gz"
    broken.write_bytes((DATA / "nodename.jsonl.gz").read_bytes()[:500])
    for file, reason in ((empty, "no recorded cases"), (broken, "not a recorded case")):
        with pytest.raises(CommandError, match=reason):
            call_command("conformance", str(file), stdout=StringIO())


def test_a_report_counts_what_was_recorded_and_is_not_compared(tmp_path):
    case, expect = next(read_cases(DATA / "nodename.jsonl.gz"))
    pods = [{**pod, "_volumes": []} for pod in expect["pods"]]
    write(tmp_path / "aided.jsonl.gz", case, {**expect, "pods": pods})
    output = StringIO()
    call_command("conformance", str(tmp_path), str(DATA / "configerrors.jsonl.gz"), stdout=output)
    aided, errors, total = output.getvalue().splitlines()
    assert aided == f"aided: 1 cases, 0 mismatches; not compared: _volumes ({len(pods)})"
    assert "; not compared: text of configError (" in errors
    assert total.endswith(f"; not compared: _volumes ({len(pods)}), {errors.rpartition(': ')[2]}")


def test_an_altered_answer_about_preemption_is_found_beside_devices(tmp_path):
    """Only what such a recording leaves out is not compared."""
    for case, expect in read_cases(DATA / "fresh" / "xdra80-s4.jsonl.gz"):
        changed = copy.deepcopy(expect)
        for pod in changed["pods"]:
            if "postFilter" in pod:
                pod["postFilter"]["nodeStatus"] = {"n000": {"code": "Unschedulable"}}
                assert compare_case(case, changed, Options(), ALL)
                return
