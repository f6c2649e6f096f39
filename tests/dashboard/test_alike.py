"""Rows about pods that say the same are one row."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from django.test import Client

from apps.cluster.models import Cluster
from apps.dashboard.alike import group_alike, stem_of
from apps.dashboard.figures import reasons
from tests.dashboard.conftest import add_pods, pod, shown


@dataclass(frozen=True)
class Row:
    namespace: str
    name: str
    says: str


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("gpu-train-fdskn556rl-g6gtz", "gpu-train"),
        ("nightly-28391040-x8k2p", "nightly-28391040"),
        ("database-0", "database"),
        ("database-12", "database"),
        ("web", "web"),
        ("recommendations-service", "recommendations-service"),
        ("7", "7"),
    ],
)
def test_the_stem_of_a_name_is_that_of_its_workload(name: str, stem: str) -> None:
    assert stem_of(name) == stem


def test_rows_are_grouped_by_namespace_stem_and_what_they_say_in_their_order() -> None:
    rows = [
        Row("a", "web-7d4b9c6f8d-abcde", "x"),
        Row("a", "web-7d4b9c6f8d-bcdfg", "full"),
        Row("a", "db-0", "full"),
        Row("a", "web-7d4b9c6f8d-hjklm", "full"),
        Row("b", "web-7d4b9c6f8d-nnnnn", "full"),
        Row("a", "web-7d4b9c6f8d-ppppp", "tainted"),
    ]
    found = group_alike(rows, lambda row: row.says)
    assert [(each.namespace, each.stem, len(each.rows)) for each in found] == [
        ("a", "web-7d4b9c6f8d-abcde", 1),
        ("a", "web", 2),
        ("a", "db-0", 1),
        ("b", "web-7d4b9c6f8d-nnnnn", 1),
        ("a", "web-7d4b9c6f8d-ppppp", 1),
    ]
    ends = [end for end, _ in found[1].listed]
    assert ends == ["7d4b9c6f8d-bcdfg", "7d4b9c6f8d-hjklm"] and not found[1].hidden


def test_the_reasons_of_a_message_come_without_what_all_messages_say() -> None:
    counted = "0/201 nodes are available: 200 Insufficient cpu, 1 node(s) were unschedulable."
    assert reasons(counted) == "200 Insufficient cpu, 1 node(s) were unschedulable"
    preemption = " preemption: 0/201 nodes are available: 201 No preemption victims found."
    assert reasons(counted + preemption) == reasons(counted)
    assert reasons(f"{counted} no new claims to deallocate,{preemption}") == reasons(counted)
    never = "0/2 nodes are available: 2 Insufficient cpu. preemption: not eligible due to x."
    assert reasons(never) == "2 Insufficient cpu. preemption: not eligible due to x"
    assert reasons("timed out.") == "timed out."


@pytest.mark.django_db
def test_prospects_and_simulated_pods_that_say_the_same_share_a_row(
    alice: Client, lab: Cluster
) -> None:
    add_pods(lab, *(pod(f"train-{number}", cpu="64") for number in range(25)))
    add_pods(lab, *(pod(f"small-{number}") for number in range(3)))
    page = shown(alice, "/clusters/lab/prospects")
    assert page.count("<summary>25 pods of train</summary>") == 1
    assert 'aria-label="train-24">…-24</a>' in page
    page = shown(alice, "/clusters/lab/lab?ask=simulate&pending=on")
    # also where only the first pods have an explanation
    assert page.count("<summary>25 pods of train</summary>") == 1
    assert page.count("<summary>3 pods of small</summary>") == 1
    assert page.index(">Question</label>") < page.index("Answered from the state")
    assert "nodes are available:" not in page


@pytest.mark.django_db
def test_the_page_before_a_deletion_groups_the_names(alice: Client, lab: Cluster) -> None:
    add_pods(lab, *(pod(f"late-{number}") for number in range(40)))
    wanted = {"action": "delete", "matching": "1", "filter": "q=late"}
    page = " ".join(alice.post("/clusters/lab/change-pods", wanted).content.decode().split())
    assert "40 pods of late" in page and page.count('title="late-') == 40
