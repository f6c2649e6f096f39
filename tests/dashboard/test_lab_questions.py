"""Long questions of the lab are operations: with progress, cancelled, with the same answer."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.administration.operations import lab_questions, running
from apps.cluster.models import Change
from apps.engine.models import Operation
from apps.studies.lab.emptying import find_emptiable_nodes
from apps.studies.lab.simulation import SimulationRequest
from tests.dashboard.conftest import create_lab, shown

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_operation_answers_as_the_lab_does(alice: Client) -> None:
    lab = create_lab()
    changes = Change.objects.count()
    for ask, heading in (("emptiable", "could be emptied"), ("failures", "If one node fails")):
        started = alice.post("/clusters/lab/lab/questions", {"ask": ask})
        operation = Operation.objects.latest("pk")
        address = f"/clusters/lab/lab/questions/{operation.pk}"
        assert started.headers["Location"] == address
        assert "waiting for a worker" in shown(alice, address)
        running.run(operation.pk)
        operation.refresh_from_db()
        assert (operation.state, operation.message[:21]) == ("succeeded", "Answered from version")
        page = shown(alice, address)
        assert heading in page and "Answered from version" in page and "node-2" in page
    emptied = Operation.objects.filter(arguments__ask="emptiable").get()
    _, answer = lab_questions.get_question(lab, emptied.pk)
    lab.refresh_from_db()
    direct = find_emptiable_nodes(lab, SimulationRequest())
    assert answer is not None and answer["together"] == direct.together
    assert alice.get(f"/api/v1/operations/{emptied.pk}/output").json() == answer
    assert Change.objects.count() == changes


def test_progress_is_reported_before_each_node() -> None:
    lab, told = create_lab(), []
    lab.refresh_from_db()
    find_emptiable_nodes(
        lab, SimulationRequest(), progress=lambda done, total, about: told.append((done, total))
    )
    assert told == [(done, 4) for done in range(4)]


def test_a_question_that_is_short_or_wrong_starts_nothing(alice: Client) -> None:
    create_lab()
    for given, told in (
        ({"ask": "simulate"}, "is not one of emptiable, failures"),
        ({"ask": "odd"}, "odd"),
        ({"ask": "emptiable", "at": "never", "version": "1"}, "version"),
    ):
        answer = alice.post("/clusters/lab/lab/questions", given)
        if answer.status_code != 422:
            # what depends on the state is found by the operation
            operation = Operation.objects.latest("pk")
            running.run(operation.pk)
            operation.refresh_from_db()
            assert operation.state == "failed" and told in operation.cause, given
        else:
            assert told in answer.content.decode(), given
