"""What kube-scheduler 1.36 accepted, refused and expanded."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from apps.conformance.config import check_config_case
from apps.scheduler.preemption.candidate_search import num_candidates
from apps.scheduler.schedule_pod import num_feasible_nodes_to_find

DATA = Path(__file__).parents[2] / "conformance" / "data"
#: Families in which cases have configurations of their own.
FAMILIES = {
    "balancedallocation": 135,
    "configerrors": 58,
    "interpodaffinity": 100,
    "mixed": 10,
    "nodeaffinity": 63,
    "noderesources": 150,
    "podtopologyspread": 61,
    "preemption": 27,
    "profiles": 250,
    "worked": 6,
}


def recorded(family: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / f"{family}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_recorded_configuration_is_read_as_kube_scheduler_read_it(family: str) -> None:
    cases = [case for case in recorded(family) if "config" in case["case"]]
    differences = [
        difference
        for case in cases
        for difference in check_config_case(case["case"], case["expect"])
    ]
    assert differences == []
    assert len(cases) == FAMILIES[family]


def test_a_difference_is_told_by_case_and_extension_point() -> None:
    [case] = [c for c in recorded("configerrors") if c["case"]["id"] == "configerrors-52"]
    case["expect"]["profiles"]["default-scheduler"]["bind"] = ["Other"]
    [difference] = check_config_case(case["case"], case["expect"])
    assert difference.startswith("configerrors-52 profile default-scheduler bind: ")


def tables() -> dict[str, list[dict[str, Any]]]:
    loaded: dict[str, list[dict[str, Any]]] = json.loads((DATA / "tables.json").read_text())
    return loaded


def test_the_search_stops_after_the_recorded_number_of_feasible_nodes() -> None:
    rows = tables()["numFeasibleNodesToFind"]
    assert len(rows) == 480
    for row in rows:
        found = num_feasible_nodes_to_find(
            row["nodes"], row["profilePercentage"], row["globalPercentage"]
        )
        assert found == row["numFeasibleNodesToFind"], row


def test_preemption_shortlists_the_recorded_number_of_candidates() -> None:
    rows = tables()["preemptionCandidates"]
    assert len(rows) == 228
    for row in rows:
        found = num_candidates(
            row["potentialNodes"],
            row["minCandidateNodesPercentage"],
            row["minCandidateNodesAbsolute"],
        )
        assert found == row["numCandidates"], row
