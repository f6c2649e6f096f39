"""What the policies of a cluster may cost together in one request."""

from __future__ import annotations

from typing import Any

import pytest

from apps.cluster.admission.policies.evaluating import Failure, RequestBudget, evaluate
from apps.cluster.validation.policy_programs import programs_of

_DEAR = "lists.range(100).all(x, x >= 0)"
_EXCEEDED = Failure(
    0,
    "validation failed because the policies for this request cost too much together, "
    "no further validation rules will be run",
)


@pytest.mark.parametrize(
    "spec",
    [
        {"validations": [{"expression": _DEAR}]},
        {"matchConditions": [{"name": "dear", "expression": _DEAR}], "validations": []},
        {"auditAnnotations": [{"key": "dear", "valueExpression": f"string({_DEAR})"}]},
        {
            "variables": [{"name": "dear", "expression": _DEAR}],
            "validations": [{"expression": "variables.dear"}],
        },
    ],
    ids=lambda spec: next(iter(spec)),
)
def test_every_expression_counts(spec: dict[str, Any]) -> None:
    budget = RequestBudget(1_000)
    for _ in range(2):
        assert not evaluate(programs_of(spec), {}, budget, ignores_errors=False).failures
    cheap = programs_of({"validations": [{"expression": "true"}]})
    assert evaluate(cheap, {}, budget, ignores_errors=False).failures == (_EXCEEDED,)
    # as any other error, it counts for nothing where the policy says so
    assert evaluate(cheap, {}, budget, ignores_errors=True).failures == ()


def test_a_policy_may_use_up_all_that_kubernetes_grants_it() -> None:
    budget = RequestBudget()
    budget.left -= 12_000_000
    spec = programs_of({"validations": [{"expression": _DEAR}]})
    assert evaluate(spec, {}, budget, ignores_errors=False).failures == ()
