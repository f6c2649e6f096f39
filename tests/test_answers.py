"""Results as JSON: what their classes declare is what an answer has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.answers import to_json


class Part(StrEnum):
    ACTIVE = "active"


class Place(NamedTuple):
    node: str
    rank: int


@dataclass(frozen=True)
class PodAt:
    uid: Annotated[str, "uuid"]
    node: str | None


@dataclass(frozen=True)
class Pod(PodAt):
    spec: object


@dataclass(frozen=True)
class Report:
    engine: object
    at: datetime
    pods: Sequence[PodAt]
    sizes: Mapping[Part, int]
    totals: NDArray[np.int64]
    best: Place | None = None

    ANSWER: ClassVar = ("sentence", "at", "pods", "sizes", "totals", "best")

    @property
    def sentence(self) -> str:
        return f"{len(self.pods)} pods"


def test_an_answer_has_what_the_class_of_the_result_lists() -> None:
    at = datetime(2026, 11, 22, 9, 0, 0, 5, tzinfo=UTC)
    report = Report(object(), at, (Pod("u", None, object()),), {Part.ACTIVE: 1}, np.array([2, 3]))
    assert list(to_json(report).items()) == [
        ("sentence", "1 pods"),
        ("at", "2026-11-22T09:00:00.000005Z"),
        ("pods", [{"uid": "u", "node": None}]),
        ("sizes", {"active": 1}),
        ("totals", [2, 3]),
        ("best", None),
    ]


def test_an_ellipsis_stands_for_the_other_fields() -> None:
    class Ranked(Pod):
        ANSWER: ClassVar = ("first", ..., "uid")
        first: ClassVar[int] = 1

    assert list(to_json(Ranked("u", "n", ()))) == ["first", "node", "spec", "uid"]


def test_a_list_of_results_is_written_as_its_type_says() -> None:
    assert to_json([Place("n", 1)], list[Place]) == [{"node": "n", "rank": 1}]
    assert to_json({"b", "a"}, frozenset[str]) == ["a", "b"]
