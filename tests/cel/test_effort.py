"""Expressions that cost little in Kubernetes' units and would take hours, or all memory."""

from __future__ import annotations

import resource

import pytest

from apps.cel.checking import Environment
from apps.cel.effort import CostExceeded, Effort
from apps.cel.programs import compile_program
from apps.cel.tracking import CostTracker
from apps.cel.types import DYN
from apps.cel.values import CelError, Value

_LETTERS = "abcdefghijklmnopqrstuvw"
_MEBIBYTES = 1 << 10


def _nest(start: str, step: str, times: int, body: str) -> str:
    """cel.bind(a, start, cel.bind(b, step of a, ...)); `body` may use the last one, `last`."""
    text = body.replace("last", _LETTERS[times])
    for number in range(times, 0, -1):
        before = _LETTERS[number - 1]
        text = f"cel.bind({_LETTERS[number]}, {step.replace('it', before)}, {text})"
    return f"cel.bind(a, {start}, {text})"


def _run(expression: str, given: Value = 1) -> tuple[Value, int]:
    program = compile_program(expression, Environment({"given": DYN}, {}), lambda path: None)
    tracker = CostTracker(1_000_000)
    return program.evaluate({"given": given}, tracker), tracker.cost


_MAPS = _nest("{1: 2}", "{1: it, 2: it, 3: it, 4: it}", 14, "last != last")
_LISTS = _nest("dyn([1, 2, 3, 4])", "dyn([it, it, it, it])", 14, "last")


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(_nest("[1, 2]", "[it, it, it, it]", 14, "last == last"), id="equal"),
        pytest.param(_MAPS, id="maps"),
        pytest.param(_nest("[1, 2]", "[it, it, it, it]", 14, "last in [last]"), id="in"),
        pytest.param(f"{_LISTS}.flatten(14).size() > 0", id="flatten"),
        pytest.param(f"[{_LISTS}, {_LISTS}].distinct().size() > 0", id="distinct"),
        pytest.param(f"sets.contains([{_LISTS}], [{_LISTS}])", id="sets"),
        pytest.param(f"[{_LISTS}].indexOf({_LISTS}) == 0", id="indexOf"),
        pytest.param(_nest("lists.range(1000)", "it + it", 20, "last.size() > 0"), id="join"),
        pytest.param(
            "cel.bind(b, 'y'.replace('', 'xxxxxxxxxx'), "
            + _nest("'xxxxxxxxxx'", "it.replace('x', b)", 6, "last.size() > 0)"),
            id="replace",
        ),
        pytest.param(
            "lists.range(20000).all(x, x in [" + ", ".join(map(str, range(2000))) + ", x - x])",
            id="constants",
        ),
    ],
)
def test_it_is_cancelled_soon(expression: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CostExceeded):
        _run(expression)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150 * _MEBIBYTES


def test_lists_have_no_order() -> None:
    found, _ = _run(f"[{_LISTS}, {_LISTS}].sort().size() > 0")
    assert isinstance(found, CelError) and found.text.startswith("no such overload")


def test_a_long_list_is_collected_without_copies_of_its_beginning() -> None:
    assert _run("lists.range(60000).map(x, x + 1)[59999]") == (60_000, 900_014)
    assert _run("lists.range(60000).filter(x, x > 59000).size()")[0] == 999
    assert _run("{1: 2}.transformMap(k, v, v + k)")[0] == {1: 3}
    found = _run("[1, 1].transformMapEntry(i, v, {v: i})")[0]
    assert isinstance(found, CelError) and found.text == "insert failed: key 1 already exists"


def test_a_loop_keeps_nothing_for_the_next_evaluation() -> None:
    program = compile_program(
        "[[1].map(x, x), [2].map(x, x)]", Environment({}, {}), lambda path: None
    )
    for _ in range(2):
        assert program.evaluate({}, CostTracker(1_000)) == [[1], [2]]


def test_evaluations_of_one_request_share_what_they_may_compare() -> None:
    effort = Effort(1_000)
    given: dict[str, Value] = {"given": list(range(300))}
    program = compile_program("given == given", Environment({"given": DYN}, {}), lambda path: None)
    with effort.shared():
        for _ in range(3):
            assert program.evaluate(given, CostTracker(1_000)) is True
        with pytest.raises(CostExceeded):
            program.evaluate(given, CostTracker(1_000))
    assert program.evaluate(given, CostTracker(1_000)) is True
