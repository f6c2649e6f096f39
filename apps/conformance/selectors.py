"""Run recorded CEL expressions about devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apps.cel.selector import CompileProblem, compile_selector, device_variable
from apps.cel.sizes import MOST
from apps.cel.values import CelError
from apps.conformance.options import Options

Json = Mapping[str, Any]


def run_cel_case(case: Json, expect: Json) -> list[str]:
    """Every difference: errors of the compiler, the result or the error, the costs."""
    computed = dict(evaluate(case["expression"], case["device"]))
    if isinstance(expect.get("maxCost"), str) and computed.get("maxCost") == MOST:
        computed["maxCost"] = expect["maxCost"]  # a text is recorded when there is no limit
    fields = ["compileError", "compileErrorType", "maxCost", "result", "runtimeError"]
    if "compileError" not in expect and not expect.get("costVaries"):
        fields.append("cost")
    return [
        f"{case['id']} {case['expression']} {field}: {computed.get(field)!r}, "
        f"recorded {expect.get(field)!r}"
        for field in fields
        if computed.get(field) != expect.get(field)
    ]


def uncompared_costs(expect: Json, options: Options) -> Iterator[str]:
    """Costs that depend on the order of a map."""
    if expect.get("costVaries"):
        yield "cost that varies"


def evaluate(expression: str, device: Json) -> Json:
    """The expression about a device, in the recording's form."""
    try:
        selector = compile_selector(expression)
    except CompileProblem as problem:
        kind = "InternalError" if problem.internal else "RuleInvalid"
        return {"compileError": str(problem), "compileErrorType": kind}
    attributes = device.get("attributes", {}).items()
    variable = device_variable(
        device["driver"],
        {name: next(iter(attribute.items())) for name, attribute in attributes},
        {name: each["value"] for name, each in device.get("capacity", {}).items()},
        device.get("allowMultipleAllocations", False),
    )
    outcome = selector.matches(variable)
    costs = {"cost": outcome.cost, "maxCost": selector.max_cost}
    if isinstance(outcome.result, CelError):
        return {"runtimeError": outcome.result.text, **costs}
    return {"result": outcome.result, **costs}
