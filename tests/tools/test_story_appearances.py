"""What is random in the objects of a story is replaced, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tools.truth.stories.appearance import Looks, differences
from tools.truth.stories.listed import RULES, unlisted

Body = dict[str, Any]


def pod(name: str, digest: str, **status: Any) -> Body:
    metadata = {
        "name": name,
        "generateName": f"web-{digest}-",
        "creationTimestamp": "2030-01-01T00:00:00Z",
        "resourceVersion": "7",
        "uid": "11111111-2222-3333-4444-555555555555",
    }
    return {"kind": "Pod", "metadata": metadata, "status": status}


def replica_set(digest: str) -> Body:
    labels = {"pod-template-hash": digest}
    metadata = {"name": f"web-{digest}", "labels": labels, "creationTimestamp": "2030-01-01"}
    return {"kind": "ReplicaSet", "metadata": metadata}


def event(uid: str, version: int, reason: str) -> Body:
    about = {"kind": "ReplicaSet", "name": "web-abc", "uid": "u"}
    metadata = {"uid": uid, "resourceVersion": str(version)}
    return {"kind": "Event", "metadata": metadata, "involvedObject": about, "reason": reason}


def test_random_names_and_hashes_are_replaced() -> None:
    one = Looks().appearance([replica_set("abc"), pod("web-abc-x7k2p", "abc")], [])
    other = Looks().appearance([replica_set("6f9"), pod("web-6f9-zzzzz", "6f9")], [])
    assert one == other
    assert "Pod web-<hash 0>-<random>" in one


def test_another_status_is_a_difference() -> None:
    one = Looks().appearance([pod("web-abc-x7k2p", "abc", phase="Running")], [])
    other = Looks().appearance([pod("web-abc-x7k2p", "abc", phase="Failed")], [])
    (place,) = differences(one, other)
    assert place == (".Pod web-abc-<random>[0].status.phase", "Running", "Failed")


def test_events_about_an_object_keep_their_order() -> None:
    def told(*reasons: str) -> Body:
        events = [event(f"e{number}", number, each) for number, each in enumerate(reasons)]
        return dict(Looks().appearance([], events[::-1]))

    assert told("A", "B") != told("B", "A")
    (listed,) = told("A", "B")["events of ReplicaSet web-abc"]
    assert [each["reason"] for each in listed["events"]] == ["A", "B"]


def told(*events: Body) -> list[Body]:
    return [{"events": list(events)}]


def test_events_that_only_one_side_records_are_listed() -> None:
    registered = {"reason": "RegisteredNode", "message": "m"}
    lost = {"reason": "Rebooted", "message": "m"}
    assert unlisted("events of Node n", told(registered), []) == []
    assert unlisted("events of Node n", told(registered, lost), told(lost)) == []
    assert unlisted("events of Node n", told(registered, lost), []) != []


def test_how_often_a_refused_creation_is_tried_is_listed_but_not_what_it_says() -> None:
    def refused(count: int, message: str = "m") -> Body:
        return {"reason": "FailedCreate", "count": count, "message": message}

    about = "events of ReplicaSet web"
    assert unlisted(about, told(refused(1), refused(3)), told(refused(2))) == []
    assert unlisted(about, told(refused(1)), told(refused(1, "other"))) != []
    created = {"reason": "SuccessfulCreate", "count": 1, "message": "m"}
    assert unlisted(about, told(created), told({**created, "count": 2})) != []


def test_an_attempt_before_claims_are_bound_is_listed_and_no_other() -> None:
    def tried(note: str) -> Body:
        return {"reason": "FailedScheduling", "message": f"0/2 nodes are available: {note}."}

    about = "events of Pod web-0"
    unbound = tried("pod has unbound immediate PersistentVolumeClaims")
    assert unlisted(about, told(unbound), []) == []
    assert unlisted(about, told(tried("2 Insufficient cpu")), []) != []


def test_each_rule_has_a_row_of_the_differences_and_each_row_a_rule() -> None:
    text = Path("docs/differences.md").read_text()
    _, _, section = text.partition("## Where the controllers differ")
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    cells = [re.split(r"\s*\|\s*", row)[1] for row in rows if "| here |" not in row]
    found = [[cell for cell in cells if cell.startswith(rule.row)] for rule in RULES]
    assert sorted(sum(found, [])) == sorted(cells)
    assert all(found)


def test_conditions_are_compared_in_the_order_of_their_changes() -> None:
    conditions = [{"type": "Progressing"}, {"type": "Available"}]
    looks = [
        Looks().appearance([pod("web-abc-x7k2p", "abc", conditions=each)], [])
        for each in (conditions, conditions[::-1])
    ]
    assert [*differences(*looks)]
