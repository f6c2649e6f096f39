"""The board of a class: checks against the clusters of the students and the ledger."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds, limits
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.cluster.roles import Role
from apps.cluster.writes import Actor, Create, Update
from apps.cluster.writing import store
from apps.engine.loop.engines import Engines
from apps.people import members
from apps.studies.classes.board import Board, read_board
from apps.studies.classes.exercises import read_exercise
from tests.engine.driving import pod
from tests.studies.classes.a_class import EXERCISE, config_map, create_class

TEACHER = Actor("teacher")
ASKED = """\
title: Why
task: Find out.
checks:
  - {say: the plugin, why: {answer: plugin, pod: huge, field: plugin}}
  - {say: the number, why: {answer: nodes, pod: huge, field: nodes, plugin: NodeResourcesFit}}
  - {say: the node, why: {answer: node, pod: small, field: node, result: scheduled}}
"""


@pytest.fixture
def teacher(db: None) -> User:
    return User.objects.create_user("teacher", password="of a class")


def missing(board: Board) -> list[str]:
    (student,) = board.students
    (attempt,) = student.attempts
    return [each.missing for each in attempt.checks]


@pytest.mark.django_db(transaction=True)
def test_the_board_follows_what_a_student_does(teacher: User, client: Client) -> None:
    spring = create_class("spring", user="teacher")
    assert missing(read_board(spring, teacher)) == [
        "node-0 is not as asked for",
        "0 of 1 pods have a node",
    ]
    ann = Cluster.objects.get(name="spring-01-ann")

    def label(body: dict[str, object]) -> dict[str, object]:
        metadata = body["metadata"]
        assert isinstance(metadata, dict)
        return {**body, "metadata": {**metadata, "labels": {**metadata["labels"], "disk": "ssd"}}}

    created = Create(kinds.POD, pod("db"), "default")
    store.write(ann, [Update(kinds.NODE, "", "node-0", label), created], actor=TEACHER)
    Engines().run(ann.pk)
    assert missing(read_board(spring, teacher)) == ["", ""]

    client.force_login(teacher)
    page = client.get("/clusters/spring/board").content.decode()
    assert "A label" in page and "done" in page and "?student=ann" in page
    assert (
        "db runs on a node with it"
        in client.get("/clusters/spring/board?student=ann").content.decode()
    )
    assert (
        "has no cluster that you see"
        in client.get("/clusters/spring/board?student=x").content.decode()
    )
    told = client.get("/api/v1/clusters/spring/board").json()
    assert told["exercises"] == {"01": "A label"}
    assert told["students"][0]["attempts"][0]["met"] == 2


@pytest.mark.django_db(transaction=True)
def test_answers_are_compared_with_the_first_decision_of_the_ledger(teacher: User) -> None:
    spring = create_class("spring", user="teacher", exercise=ASKED)
    ann = Cluster.objects.get(name="spring-01-ann")
    store.write(ann, [Create(kinds.POD, pod("huge", cpu="64"), "default")], actor=TEACHER)
    store.write(ann, [Create(kinds.POD, pod("small"), "default")], actor=TEACHER)
    Engines().run(ann.pk)
    assert all(each.startswith("no answer") for each in missing(read_board(spring, teacher)))
    wrong = config_map("answers", plugin="TaintToleration", nodes="1", node="node-0 ")
    store.write(ann, [wrong], actor=TEACHER)
    assert missing(read_board(spring, teacher)) == [
        "TaintToleration is not what the ledger says",
        "",
        "",
    ]


@pytest.mark.django_db
def test_a_student_sees_the_own_row_and_cannot_change_the_checks(
    teacher: User, client: Client
) -> None:
    spring = create_class("spring", user="teacher")
    ann = User.objects.create_user("ann", password="a student")
    create_cluster("spring-01-bob", user="teacher", nodes=1)
    members.add_member(spring, user="ann", role=Role.VIEWER, actor="teacher")
    own = Cluster.objects.get(name="spring-01-ann")
    members.add_member(own, user="ann", role=Role.OPERATOR, actor="teacher")
    assert [each.name for each in read_board(spring, teacher).students] == ["ann", "bob"]
    assert [each.name for each in read_board(spring, ann).students] == ["ann"]
    client.force_login(ann)
    path = "/k8s/spring/api/v1/namespaces/default/configmaps/exercise-01"
    assert client.delete(path).status_code == 403


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "exercise-01: "),
        ("title: x\ntask: do it\nchecks: []\n", "exercise-01: checks: "),
        (EXERCISE.replace("bound: 1", "bound: one"), "exercise-01: checks[1].bound: "),
        (EXERCISE.replace("bound: 1", "bond: 1"), "unknown field `bond`"),
        ("- 1", "exercise-01: Expected `object`"),
    ],
)
def test_an_exercise_that_cannot_be_read_names_its_field(text: str, said: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read_exercise("exercise-01", text)
    assert said in refused.value.message


@pytest.mark.django_db
def test_a_board_is_bounded_before_anything_is_read(
    teacher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    spring = create_class("spring", user="teacher")
    for name, said in (("CLASS_OBJECTS", "more than 0 objects"), ("CLASS_STUDENTS", "more than 0")):
        monkeypatch.setattr(limits, name, limits.Limit(name, 0))
        with pytest.raises(BadRequest, match=said):
            read_board(spring, teacher)


def test_the_exercises_of_the_kit_can_be_read() -> None:
    for path in (Path(__file__).parents[3] / "kits" / "class" / "exercises").glob("*.yaml"):
        assert read_exercise(path.name, path.read_text()).checks
