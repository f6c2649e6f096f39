"""CEL rules of a CustomResourceDefinition (`x-kubernetes-validations`): compiled and evaluated.

A rule that refers to `oldSelf` is a transition rule: it is evaluated only in an update, where the
value has a counterpart in the old object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import msgspec

from apps.cel.effort import CostExceeded, Effort
from apps.cel.programs import Program, compile_program
from apps.cel.selector import CompileProblem
from apps.cel.tracking import CostTracker
from apps.cel.types import BOOL, STRING, Type
from apps.cel.values import NO_OVERLOAD, CelError, OptionalValue, Value
from apps.cluster.errors import Cause
from apps.cluster.schema.go_types import internal
from apps.cluster.validation.causes import (
    Causes,
    duplicate,
    forbidden,
    invalid,
    invalid_without_value,
    not_supported,
    required,
)
from apps.cluster.validation.custom_costs import (
    EXPRESSION_LIMIT,
    VERSION_LIMIT,
    excess,
    sizes_of,
    total_cost,
)
from apps.cluster.validation.custom_values import (
    Converted,
    environment_of,
    has_type,
    value_of,
    with_type_fields,
)

Schema = Mapping[str, Any]

RULES: Final = "x-kubernetes-validations"
#: What one rule, and all rules for one object, may cost.
RULE_LIMIT: Final = 1_000_000
OBJECT_LIMIT: Final = 10_000_000
RULE_COST: Final = "estimated rule cost"
_MESSAGE_COST: Final = "estimated messageExpression cost"
_TOTAL_COST: Final = (
    "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
)
_CONTRIBUTED: Final = (
    "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
)
#: How many expressions are named when all together cost too much.
_DEAREST: Final = 4
#: What takes the place of a value that has no counterpart in the old object.
_ABSENT: Final = object()
_NOT_BOOL: Final = "cel expression must evaluate to a bool"
_NOT_STRING: Final = "messageExpression must evaluate to a string"
_EXCEEDED: Final = (
    "'operation cancelled: actual cost limit exceeded': no further validation rules will be run "
    "due to call cost exceeds limit for rule"
)
_NO_SIGNATURE: Final = (
    "call arguments did not match a supported operator, function or macro signature for rule"
)
_UNCORRELATABLE: Final = "oldSelf cannot be used on the uncorrelatable portion of the schema within"
_NO_TYPE: Final = (
    "Internal error: internal error: failed to construct type information for "
    "x-kubernetes-validations rules: unable to convert structural schema to CEL declarations"
)
_REASONS: Final = tuple(
    f"FieldValue{each}" for each in ("Duplicate", "Forbidden", "Invalid", "Required")
)
_STEP: Final = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\['([^']+)'\]")


@dataclass(frozen=True, slots=True)
class Rule:
    """A compiled rule. `path`: of the field that it is about, after that of the value."""

    program: Program
    message: str
    reason: str
    path: str
    message_program: Program | None
    optional_old: bool

    @property
    def is_transition(self) -> bool:
        return "oldSelf" in self.program.names

    @property
    def title(self) -> str:
        return self.message or self.program.expression.strip()


def compile_rule(schema: Schema, given: Mapping[str, Any]) -> Rule:
    """A rule of a schema; CompileProblem, whose message says what is wrong with its expression."""
    optional_old = bool(given.get("optionalOldSelf"))
    environment, sizes = environment_of(schema, optional_old=optional_old), sizes_of(schema)
    program = _typed(compile_program(given["rule"], environment, sizes), BOOL, _NOT_BOOL)
    text = given.get("messageExpression", "")
    message = None
    if text.strip():
        message = _typed(compile_program(text, environment, sizes), STRING, _NOT_STRING)
    return Rule(
        program,
        given.get("message", "").strip(),
        given.get("reason") or "FieldValueInvalid",
        given.get("fieldPath", ""),
        message,
        optional_old,
    )


def _typed(program: Program, wanted: Type, problem: str) -> Program:
    if program.result != wanted and not program.result.is_dyn:
        raise CompileProblem(problem)
    return program


def steps_of(field_path: str) -> list[str] | None:
    """The names in a fieldPath such as `.spec.a` or `.spec['a.b']`; None if it is none."""
    steps = list(_STEP.finditer(field_path))
    if not steps or "".join(each[0] for each in steps) != field_path:
        return None
    return [each[1] or each[2] for each in steps]


@lru_cache(maxsize=2048)
def _compiled(schema_text: str) -> tuple[Rule, ...]:
    schema = msgspec.json.decode(schema_text)
    return tuple(compile_rule(schema, each) for each in schema[RULES])


def has_rules(schema: Any) -> bool:
    """Whether a schema or one inside it has rules."""
    if isinstance(schema, Mapping):
        return bool(schema.get(RULES)) or any(map(has_rules, schema.values()))
    return isinstance(schema, list) and any(map(has_rules, schema))


def apply_rules(schema: Schema, body: Mapping[str, Any], old: Mapping[str, Any] | None) -> Causes:
    """What the rules of a schema find in a valid object, or in an update of `old`.

    The first one that costs too much is the last one.
    """
    evaluation = _Evaluation()
    root = with_type_fields(schema)
    with suppress(CostExceeded):
        yield from evaluation.check(root, body, old if old is not None else _ABSENT, "")


class _Evaluation:
    def __init__(self) -> None:
        self._left = OBJECT_LIMIT
        self._effort = Effort()
        #: by the id of a schema, which may have many values: its text is as long as itself
        self._rules: dict[int, tuple[Rule, ...]] = {}
        self._converted: Converted = {}

    def check(self, schema: Schema, value: Any, old: Any, path: str) -> Causes:
        """The rules of a schema and of those inside it. An unchanged value keeps its faults."""
        if value is None or value == old:
            return
        if schema.get(RULES):
            yield from self._apply_all(schema, value, old, path)
        yield from self._inside(schema, value, old, path)

    def _apply_all(self, schema: Schema, value: Any, old: Any, path: str) -> Causes:
        try:
            rules = self._rules_of(schema)
        except CompileProblem as wrong:
            # a definition that was stored before its rules were compiled
            yield invalid(path, schema.get("type", ""), f"rule compile error: {wrong}")
            return
        seen = value_of(schema, value, self._converted)
        before = _ABSENT
        if old is not _ABSENT and old is not None:
            before = value_of(schema, old, self._converted)
        for rule in rules:
            yield from self._apply(rule, schema, seen, before, value, path)

    def _rules_of(self, schema: Schema) -> tuple[Rule, ...]:
        rules = self._rules.get(id(schema))
        if rules is None:
            rules = _compiled(msgspec.json.encode(schema, order="sorted").decode())
            self._rules[id(schema)] = rules
        return rules

    def _inside(self, schema: Schema, value: Any, old: Any, path: str) -> Causes:
        if isinstance(value, Mapping):
            properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
            known = old if isinstance(old, Mapping) else {}
            for name, item in value.items():
                inner = properties.get(name, others)
                if isinstance(inner, Mapping):
                    at = f"{path}.{name}" if path else name
                    at = at if name in properties else f"{path}[{name}]"
                    yield from self.check(inner, item, known.get(name, _ABSENT), at)
        elif isinstance(value, list) and isinstance(schema.get("items"), Mapping):
            counterparts = _by_key(schema, old)
            for index, item in enumerate(value):
                before = counterparts.get(_key_of(schema, item), _ABSENT)
                yield from self.check(schema["items"], item, before, f"{path}[{index}]")

    def _apply(
        self, rule: Rule, schema: Schema, value: Value, old: Value, given: Any, path: str
    ) -> Causes:
        variables = {"self": value}
        if rule.is_transition:
            if rule.optional_old:
                is_new = old is _ABSENT
                variables["oldSelf"] = OptionalValue() if is_new else OptionalValue(old, True)
            elif old is _ABSENT:
                return
            else:
                variables["oldSelf"] = old
        shown = schema.get("type", "")
        try:
            result = self._evaluate(rule.program, variables)
        except CostExceeded:
            yield invalid(path, shown, f"{_EXCEEDED}: {rule.title}")
            raise
        if isinstance(result, CelError):
            detail = f"{result.text} evaluating rule: {rule.title}"
            if result.text.startswith(NO_OVERLOAD):
                detail = f"'{result.text}': {_NO_SIGNATURE}: {rule.title}"
            yield invalid(path, shown, detail)
        elif result is not True:
            yield _failure(rule, given, path, self._message(rule, variables))

    def _evaluate(self, program: Program, variables: Mapping[str, Any]) -> Value:
        tracker = CostTracker(min(RULE_LIMIT, self._left))
        try:
            with self._effort.shared():
                return program.evaluate(variables, tracker)
        finally:
            self._left -= tracker.cost

    def _message(self, rule: Rule, variables: Mapping[str, Any]) -> str:
        """Of the expression, if it evaluates to a text of one line that is not blank."""
        if rule.message_program is not None:
            try:
                text = self._evaluate(rule.message_program, variables)
            except CostExceeded:
                text = None
            if isinstance(text, str) and text.strip() and "\n" not in text.strip():
                return text.strip()
        return rule.message or f"failed rule: {rule.title}"


def _failure(rule: Rule, given: Any, path: str, message: str) -> Cause:
    """The fault that a rule has found in a value, which is shown unless it has parts."""
    at = f"{path}{rule.path}" if path else rule.path.removeprefix(".")
    has_parts = isinstance(given, Mapping | list)
    match rule.reason:
        case "FieldValueRequired":
            return required(at, message)
        case "FieldValueForbidden":
            return forbidden(at, message)
        case "FieldValueDuplicate":
            return duplicate(at, given)
    return invalid_without_value(at, message) if has_parts else invalid(at, given, message)


def _by_key(schema: Schema, old: Any) -> dict[str, Any]:
    """The items of an old list by their keys; those of other lists have no counterparts."""
    if not isinstance(old, list) or schema.get("x-kubernetes-list-type") != "map":
        return {}
    return {_key_of(schema, item): item for item in old}


def _key_of(schema: Schema, item: Any) -> str:
    if not isinstance(item, Mapping):
        return ""
    names = schema.get("x-kubernetes-list-map-keys") or ()
    return msgspec.json.encode([item.get(name) for name in names]).decode()


#: Why an expression is not compiled after many others.
TOO_LONG: Final = "the expressions of this object take too long to compile"


@dataclass
class Budget:
    """What the rules of a version are estimated to cost: the path of each expression, its cost."""

    costs: list[tuple[str, int]] = field(default_factory=list)
    #: whether compiling the expressions has taken all effort: what follows is not compiled
    spent: bool = False

    def spend(self, what: str, path: str, cost: int) -> Causes:
        """Add an expression; an error if it alone costs too much."""
        self.costs.append((path, cost))
        if cost > EXPRESSION_LIMIT:
            yield forbidden(path, excess(what, cost, EXPRESSION_LIMIT))

    def check(self, path: str) -> Causes:
        """An error if all of them together cost too much, and one for each of the dearest."""
        total = sum(cost for _, cost in self.costs)
        if total <= VERSION_LIMIT:
            return
        dearest = sorted(self.costs, key=lambda each: -each[1])[:_DEAREST]
        for at, cost in dearest:
            if cost >= VERSION_LIMIT // 100:
                yield forbidden(at, _CONTRIBUTED)
        yield forbidden(path, excess(_TOTAL_COST, total, VERSION_LIMIT))


def find_faults(
    schema: Schema,
    path: str,
    budget: Budget,
    count: int | None,
    *,
    root: bool = False,
    compiles: bool = True,
    uncorrelatable: str = "",
) -> Causes:
    """What is wrong with the rules of a schema itself, without those inside it.

    `count`: how many values of the schema an object has at most; None without a limit. Expressions
    are not compiled if the schema is wrong. `uncorrelatable`: the list whose items, with which the
    schema is, have no counterparts in an older object.
    """
    typed = with_type_fields(schema) if root else schema
    rules = schema.get(RULES) or ()
    plain: list[Cause] = []
    for index, each in enumerate(rules):
        plain += _plain_faults(typed, each, path, index)
    yield from plain
    if not compiles or plain or not rules:
        return
    if not has_type(typed):
        yield Cause("InternalError", _NO_TYPE, f"{path}.{RULES}")
        return
    for index, given in enumerate(schema.get(RULES) or ()):
        at = f"{path}.{RULES}[{index}]"
        if budget.spent:
            return
        try:
            yield from _faults_of(typed, given, at, budget, count, uncorrelatable)
        except CostExceeded:
            budget.spent = True
            yield invalid(f"{at}.rule", given["rule"], TOO_LONG)


def _faults_of(
    schema: Schema,
    given: Mapping[str, Any],
    at: str,
    budget: Budget,
    count: int | None,
    uncorrelatable: str,
) -> Causes:
    try:
        rule = compile_rule(schema, {"rule": given["rule"], **_old_flag(given)})
    except CompileProblem as wrong:
        shown = internal("apiextensions.ValidationRule", given)
        yield invalid(f"{at}.rule", shown, str(wrong))
        return
    cost = total_cost(rule.program.max_cost, schema, count)
    yield from budget.spend(RULE_COST, f"{at}.rule", cost)
    if rule.is_transition and uncorrelatable:
        detail = f"{_UNCORRELATABLE} {uncorrelatable}"
        yield invalid(f"{at}.rule", given["rule"], detail)
    if given.get("optionalOldSelf") is not None and not rule.is_transition:
        detail = "may not be set if oldSelf is not used in rule"
        yield invalid(f"{at}.optionalOldSelf", given["optionalOldSelf"], detail)
    try:
        # most rules have none: their own expression is compiled once
        has_message = given.get("messageExpression", "").strip()
        message = compile_rule(schema, given).message_program if has_message else None
    except CompileProblem as wrong:
        shown = internal("apiextensions.ValidationRule", given)
        yield invalid(f"{at}.messageExpression", shown, str(wrong))
    else:
        if message is not None:
            cost = total_cost(message.max_cost, schema, count)
            yield from budget.spend(_MESSAGE_COST, f"{at}.messageExpression", cost)


def _plain_faults(schema: Schema, given: Mapping[str, Any], path: str, index: int) -> Causes:
    """What is wrong with a rule beside its expressions."""
    at = f"{path}.{RULES}[{index}]"
    rule, message = given.get("rule", ""), given.get("message", "")
    if not rule.strip():
        yield required(f"{at}.rule", "rule is not specified")
    if message and not message.strip():
        yield invalid(f"{at}.message", message, "must be non-empty if specified")
    elif "\n" in message.strip():
        yield invalid(f"{at}.message", message, "must not contain line breaks")
    elif "\n" in rule.strip() and not message and not given.get("messageExpression"):
        detail = "message must be specified if rule contains line breaks"
        yield required(f"{at}.message", detail)
    reason = given.get("reason")
    if reason is not None and reason not in _REASONS:
        yield not_supported(f"{at}.reason", reason, _REASONS)
    yield from _field_path_faults(schema, given.get("fieldPath", ""), f"{at}.fieldPath")


def _old_flag(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"optionalOldSelf": given.get("optionalOldSelf")}


def _field_path_faults(schema: Schema, field_path: str, at: str) -> Iterator[Cause]:
    if not field_path:
        return
    steps = steps_of(field_path)
    if steps is None:
        yield invalid(at, field_path, "must be a valid path")
        return
    for step in steps:
        inner = (schema.get("properties") or {}).get(step, schema.get("additionalProperties"))
        if not isinstance(inner, Mapping):
            yield invalid(at, field_path, "must be a valid path")
            return
        schema = inner
