"""The kinds of recorded cases, and which comparison each needs.

A kind is recognized by the fields of a case and of what was recorded for it, never by the name of
a file: a family that nothing here can compare must not pass as equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from apps.conformance.gang import run_gang_case
from apps.conformance.hints import run_hints_case
from apps.conformance.options import Options
from apps.conformance.queue import run_queue_case
from apps.conformance.scheduling import compare_scheduling, uncompared_decisions
from apps.conformance.selectors import run_cel_case, uncompared_costs

Json = Mapping[str, Any]
#: (case, expect, options) -> differences, one line each
Compare = Callable[[Json, Json, Options], list[str]]


def _nothing(expect: Json, options: Options) -> Iterator[str]:
    yield from ()


_NO_ANSWER: Final[tuple[Any, ...]] = (None, [], {})


@dataclass(frozen=True, slots=True)
class CaseKind:
    """One kind of case: its fields, and the function that compares its answers."""

    name: str
    #: fields of the case, besides its id, that the comparison understands
    given: frozenset[str]
    #: fields of the recorded answer, besides its id, that are compared
    recorded: frozenset[str]
    compare: Compare
    #: fields without which a case is not of this kind
    needed: frozenset[str] = frozenset()
    #: (expect, options) -> what is recorded and not compared, once for each time
    uncompared: Callable[[Json, Options], Iterable[str]] = _nothing

    def matches(self, case: Json, expect: Json) -> bool:
        """Whether every field is one of this kind's, and some answer was recorded."""
        answers = expect.keys() - {"id"}
        return (
            self.needed <= case.keys()
            and case.keys() - {"id"} <= self.given
            and answers <= self.recorded
            and any(expect[field] not in _NO_ANSWER for field in answers)
        )


KINDS: Final = (
    CaseKind(
        "scheduling",
        frozenset({"config", "emitProfiles", "objects", "pods", "preBind"}),
        frozenset({"configError", "pods", "profiles"}),
        compare_scheduling,
        uncompared=uncompared_decisions,
    ),
    CaseKind(
        "queue",
        frozenset({"ops", "podInitialBackoffSeconds", "podMaxBackoffSeconds"}),
        frozenset({"states"}),
        lambda case, expect, options: run_queue_case(case, expect),
    ),
    CaseKind(
        "hints",
        frozenset({"events", "objects", "pod"}),
        frozenset({"results"}),
        lambda case, expect, options: run_hints_case(case, expect),
    ),
    CaseKind(
        "gang",
        frozenset({"config", "featureGates", "gracefulDeletion", "steps"}),
        frozenset({"states"}),
        lambda case, expect, options: run_gang_case(case, expect),
        needed=frozenset({"featureGates", "steps"}),
    ),
    CaseKind(
        "cel",
        frozenset({"device", "expression"}),
        frozenset(
            {
                "compileError",
                "compileErrorType",
                "cost",
                "costVaries",
                "maxCost",
                "result",
                "runtimeError",
            }
        ),
        lambda case, expect, options: run_cel_case(case, expect),
        uncompared=uncompared_costs,
    ),
)


def compare_case(
    case: Json, expect: Json, options: Options, kinds: Iterable[CaseKind] = KINDS
) -> list[str]:
    """The differences of one case. A case that cannot be compared is a difference as well."""
    name = case.get("id")
    kind = _kind_of(case, expect, kinds)
    if kind is None:
        return [
            f"{name}: nothing was compared: no known kind of case has the fields "
            f"{_list(case)} and the recorded answers {_list(expect)}"
        ]
    try:
        return kind.compare(case, expect, options)
    except Exception as error:  # the other cases are compared all the same
        return [f"{name}: the comparison failed: {type(error).__name__}: {error}"]


def find_uncompared(
    case: Json, expect: Json, options: Options, kinds: Iterable[CaseKind] = KINDS
) -> Iterable[str]:
    """What was recorded for a case and is not compared, once for each time."""
    kind = _kind_of(case, expect, kinds)
    return () if kind is None else kind.uncompared(expect, options)


def _kind_of(case: Json, expect: Json, kinds: Iterable[CaseKind]) -> CaseKind | None:
    return next((kind for kind in kinds if kind.matches(case, expect)), None)


def _list(fields: Json) -> str:
    present = (field for field in sorted(fields) if field != "id")
    return ", ".join(present) or "(none)"
