"""Every recorded scheduling case of the families below comes out as kube-scheduler 1.36 had it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from apps.conformance.kinds import KINDS
from apps.conformance.options import Options
from apps.conformance.runner import run

DATA = Path(__file__).parent / "data"

#: recorded later, on larger clusters and with gates on and off
FRESH = sorted(path.name.removesuffix(".jsonl.gz") for path in (DATA / "fresh").iterdir())
FAMILIES = (
    "nodename",
    "nodeports",
    "nodeunschedulable",
    "taints",
    "nodeaffinity",
    "noderesources",
    "balancedallocation",
    "imagelocality",
    "schedulinggates",
    "resize",
    "nominated",
    "configerrors",
    "interpodaffinity",
    "podtopologyspread",
    "preemption",
    "preemptioncluster",
    "profiles",
    "mixed",
    "worked",
    "volumes",
    "gang",
    "dynamicresources",
    "cel",
    *(f"fresh/{family}" for family in FRESH),
)


@pytest.mark.parametrize("family", FAMILIES)
def test_family_matches_the_recording(family: str) -> None:
    report = run([DATA / f"{family}.jsonl.gz"])
    assert report.cases > 0
    assert [found.mismatches for found in report.families] == [{}]


def test_report_tells_a_line_per_family_and_the_total() -> None:
    lines: list[str] = []
    run([DATA / "schedulinggates.jsonl.gz", DATA / "nodename.jsonl.gz"], print_line=lines.append)
    assert lines[0] == "schedulinggates: 60 cases, 0 mismatches"
    assert lines[-1].startswith("160 cases, ")


def test_report_shows_the_differences_of_one_case() -> None:
    lines: list[str] = []

    def disagree(case: object, expect: object, options: Options) -> list[str]:
        return ["the node: 'a', recorded 'b'", "the message: 'c', recorded 'd'"]

    report = run(
        [DATA / "nodename.jsonl.gz"],
        Options(show="nodename-0001"),
        kinds=[replace(KINDS[0], compare=disagree)],
        print_line=lines.append,
    )
    assert report.cases == report.mismatches == 1
    assert lines[:2] == ["the node: 'a', recorded 'b'", "the message: 'c', recorded 'd'"]


def test_cases_with_a_configuration_can_be_left_out() -> None:
    path = DATA / "nodeaffinity.jsonl.gz"
    options = Options(default_profile=True, no_postfilter=True)
    assert run([path], options).cases == 200 - 63
