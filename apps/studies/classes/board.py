"""The board of a class: who is where."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from apps.cluster import limits
from apps.cluster.access.grants import AnyUser
from apps.cluster.access.reach import reach_of
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster, DataObject, Node, Pod
from apps.cluster.queries import clusters
from apps.engine.models import SchedulingDecision
from apps.studies.classes.checking import State, find_missing
from apps.studies.classes.exercises import CONFIG_MAP, Exercise, read_exercises


@dataclass(frozen=True, slots=True)
class Outcome:
    """One check of an exercise."""

    #: what has to be so
    say: str
    #: what is missing for it; empty if it is met
    missing: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """An exercise of a student."""

    ANSWER: ClassVar = ("exercise", "cluster", "met", ...)

    #: the number, `01`
    exercise: str
    #: the name of the student's cluster
    cluster: str
    checks: Sequence[Outcome]

    @property
    def met(self) -> int:
        """How many checks are met."""
        return sum(not each.missing for each in self.checks)

    @property
    def is_done(self) -> bool:
        return self.met == len(self.checks)


@dataclass(frozen=True, slots=True)
class Student:
    """A student, and the exercises that the student has a cluster for."""

    name: str
    #: by number
    attempts: Sequence[Attempt]

    def attempt(self, exercise: str) -> Attempt | None:
        return next((each for each in self.attempts if each.exercise == exercise), None)


@dataclass(frozen=True, slots=True)
class Board:
    """The exercises of a class and its students, of the clusters that the user sees."""

    #: title by number
    exercises: Mapping[str, str]
    #: by name
    students: Sequence[Student]

    @property
    def rows(self) -> list[tuple[Student, list[Attempt | None]]]:
        """The attempts of each student in the order of the exercises; None without a cluster."""
        return [
            (student, [student.attempt(number) for number in self.exercises])
            for student in self.students
        ]


def read_board(cluster: Cluster, user: AnyUser, *, student: str = "") -> Board:
    """The board of a class, whose cluster this is; of one student if it is named.

    BadRequest for an exercise that cannot be read, and for more students or objects than a board
    may have.
    """
    exercises = read_exercises(cluster)
    prefix = f"{cluster.name}-"
    reachable = reach_of(user).restrict(clusters(), "pk").filter(name__startswith=prefix)
    own: dict[str, dict[str, tuple[int, str]]] = defaultdict(dict)
    for pk, name in reachable.values_list("pk", "name"):
        number, _, who = name.removeprefix(prefix).partition("-")
        if number in exercises and who and student in ("", who):
            own[who][number] = pk, name
    if not limits.CLASS_STUDENTS.admits(len(own)):
        raise BadRequest(f"student: the class has more than {limits.CLASS_STUDENTS.highest:,}")
    wanted = {pk: exercises[n] for each in own.values() for n, (pk, _) in each.items()}
    states = _read_states(wanted)
    return Board(
        {number: each.title for number, each in exercises.items()},
        [
            Student(
                who,
                [
                    Attempt(number, name, _check(states[pk], exercises[number]))
                    for number, (pk, name) in sorted(each.items())
                ],
            )
            for who, each in sorted(own.items())
        ],
    )


def _check(state: State, exercise: Exercise) -> list[Outcome]:
    return [Outcome(each.say, find_missing(state, each)) for each in exercise.checks]


def _read_states(wanted: Mapping[int, Exercise]) -> Mapping[int, State]:
    """The states of clusters, by what the checks of their exercises read."""
    states = {pk: State() for pk in wanted}
    pods = Pod.objects.filter(cluster__in=wanted, namespace="default")
    nodes = Node.objects.filter(cluster__in=wanted)
    if not limits.CLASS_OBJECTS.admits(pods.count() + nodes.count()):
        most = limits.CLASS_OBJECTS.highest
        raise BadRequest(f"student: the clusters of the class have more than {most:,} objects")
    for pk, body in pods.values_list("cluster_id", "body"):
        if "deletionTimestamp" not in body["metadata"]:
            states[pk].pods.append(body)
    for pk, name, labels in nodes.values_list("cluster_id", "name", "labels"):
        states[pk].nodes[name] = labels
    checks = [each for exercise in wanted.values() for each in exercise.checks]
    named = nodes.filter(name__in={each.node for each in checks if each.node})
    for pk, name, body in named.values_list("cluster_id", "name", "body"):
        states[pk].named_nodes[name] = body
    answers = DataObject.objects.filter(
        cluster__in=wanted, kind=CONFIG_MAP, namespace="default", name="answers"
    )
    for pk, data in answers.values_list("cluster_id", "body__data"):
        states[pk].answers = data or {}
    asked = {each.why.pod for each in checks if each.why}
    first = SchedulingDecision.objects.filter(
        cluster__in=wanted, namespace="default", name__in=asked
    )
    # several results of a pod are asked about; DISTINCT keeps the first of each
    order = ("cluster_id", "name", "result")
    for row in first.order_by(*order, "pk").distinct(*order):
        states[row.cluster_id].decisions[row.name, row.result] = row
    return states
