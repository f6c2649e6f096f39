"""What rules of custom resources are estimated to cost, as the API server estimates it."""

from __future__ import annotations

import pytest

from apps.cluster.validation.custom_rules import compile_rule
from tests.cluster.recorded import validate

RULES = "x-kubernetes-validations"


def of_type(name):
    if name == "int-or-string":
        return {"x-kubernetes-int-or-string": True}
    texts = ("duration", "date", "date-time")
    return {"type": "string", "format": name} if name in texts else {"type": name}


def array(item):
    return {"type": "array", "items": of_type(item) if isinstance(item, str) else item}


def a_map(item):
    value = of_type(item) if isinstance(item, str) else item
    return {"type": "object", "additionalProperties": value}


def limited(schema, most):
    if schema.get("type") == "array":
        return {**schema, "maxItems": most}
    field = "maxProperties" if "additionalProperties" in schema else "maxLength"
    return {**schema, field: most}


TEXT = {"type": "string"}
OBJECT = {
    "type": "object",
    "required": ["required"],
    "properties": {"required": TEXT, "more": TEXT},
}
ENUM = {**TEXT, "enum": ["A", "B", "C", "LongValue"]}
EVERY = "self.all(x, true)"


@pytest.mark.parametrize(
    ("schema", "rule", "unlimited", "most", "cost"),
    [
        (array("number"), EVERY, 4718591, 10, 32),
        (array("string"), EVERY, 3145727, 20, 62),
        (array("boolean"), EVERY, 1887437, 5, 17),
        (array(array("number")), EVERY, 3145727, 100, 302),
        (array(OBJECT), EVERY, 555128, 50, 152),
        (array("int-or-string"), EVERY, 4718591, 10, 32),
        (array("duration"), EVERY, 2359295, 5, 17),
        (array("date"), EVERY, 725936, 15, 47),
        (array("date-time"), EVERY, 428963, 25, 77),
        (array("number"), "self.all(x, x == 0.0)", 6291454, 3 * 1024 * 2048, 25165826),
        (array("number"), "self.all(x, self.all(y, true))", None, 10, 352),
        (array("number"), "self.all(x, self.all(y, self.all(z, true)))", None, 10, 3552),
        (array("number"), "self[1] == 0.0", 2, 5000, 2),
        (array("string"), "self[1] == self[1]", 314577, 8, 314577),
        (array("int-or-string"), "self[0] == 5", 3, 10, 3),
        (array(array("number")), "self[0][0] == -1.0", 3, 51, 3),
        (array(a_map("number")), "self.all(x, x.y == 25.2)", 6291452, 12, 74),
        (array("duration"), "self[0].getHours() == 2", 4, 525, 4),
        (a_map("string"), EVERY, 1179647, 3, 11),
        (a_map("boolean"), EVERY, 943718, 100, 302),
        (a_map("int-or-string"), EVERY, 1348169, 15, 47),
        (a_map("duration"), EVERY, 1048577, 5, 17),
        (a_map("date-time"), EVERY, 349526, 25, 77),
        (a_map("integer"), "oldSelf.size() == self.size()", 5, 10, 5),
        (a_map("date-time"), 'self["a"] == self["b"]', 8, 7, 8),
        (TEXT, "self.contains('test')", 314574, 10, 5),
        (TEXT, "self.startsWith('test')", 2, 15, 2),
        (TEXT, 'size(self + "hello") > size("hello")', 314578, 4, 7),
        (TEXT, 'self.matches("x")', 314574, 50, 22),
        (TEXT, 'self == "x"', 2, 0, 1),
        (TEXT, "self.find('[0-9]+') == ''", 629147, 10, 11),
        (TEXT, "self.lowerAscii() == 'lower!'", 314575, 10, 6),
        (ENUM, "self.contains('A')", 2, 1000, 401),
    ],
)
def test_the_cost_of_a_rule_follows_from_the_sizes_of_the_schema(
    schema, rule, unlimited, most, cost
):
    def estimate(given):
        return compile_rule(given, {"rule": rule}).program.max_cost

    found = estimate(schema)
    assert found == unlimited if unlimited is not None else found > 10_000_000
    assert estimate(limited(schema, most)) == cost


def definition(properties):
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": properties}},
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    return {
        "metadata": {"name": "things.a.example"},
        "spec": {
            "group": "a.example",
            "scope": "Cluster",
            "conversion": {"strategy": "None"},
            "names": names,
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def complaints(**properties):
    causes = validate("CustomResourceDefinition", definition(properties))
    return [(each.field.partition("openAPIV3Schema")[2], each.message) for each in causes]


def test_a_rule_that_may_cost_too_much_is_refused() -> None:
    rule = {"rule": "self.all(x, self.exists_one(y, x == y))"}
    names = {**array("string"), RULES: [rule]}
    found = complaints(names=names)
    at = ".properties[spec].properties[names].x-kubernetes-validations[0].rule"
    advice = (
        "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
        "maps, and strings are declared)"
    )
    exceeds = f"exceeds budget by factor of more than 100x {advice}"
    assert found == [
        (at, f"Forbidden: estimated rule cost {exceeds}"),
        (
            at,
            "Forbidden: contributed to estimated rule cost total exceeding cost limit for entire "
            "OpenAPIv3 schema",
        ),
        (
            "",
            "Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 "
            f"schema {exceeds}",
        ),
    ]
    bounded = {**names, "maxItems": 64, "items": {**TEXT, "maxLength": 253}}
    assert complaints(names=bounded) == []
    # in a list without a limit, each element has its own rule
    (one, *_) = complaints(groups={"type": "array", "items": bounded})
    assert "estimated rule cost exceeds budget" in one[1]
