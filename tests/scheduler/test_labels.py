"""Selectors: what they match, how they are written, what is refused."""

from __future__ import annotations

import pytest

from apps.scheduler.labels import (
    EVERYTHING,
    NOTHING,
    SelectorError,
    from_label_selector,
    from_set,
    node_selector_matches,
    parse_int64,
    parse_selector,
)
from apps.scheduler.objects import (
    LabelSelector,
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)

LABELS = {"app": "web", "tier": "front", "size": "5", "empty": ""}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app=db", False),
        ("app!=db", True),
        ("other!=x", True),
        ("app in (web, db)", True),
        ("app in(db)", False),
        ("app notin (db)", True),
        ("other notin (x)", True),
        ("app", True),
        ("other", False),
        ("!other", True),
        ("!app", False),
        ("! app", False),
        ("size>4", True),
        ("size<5", False),
        ("app>4", False),
        ("empty=", True),
        ("empty", True),
        ("app=web,tier=front", True),
        ("app=web , tier in (back)", False),
        ("app in ()", False),
        ("empty in ()", True),
        ("empty in (,x)", True),
    ],
)
def test_a_text_selector_matches_labels(text, matches):
    assert parse_selector(text).matches(LABELS) is matches


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("app=a=b", "found '=', expected: ',' or 'end of string'"),
        (
            "a b",
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
        ),
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a in x", "unable to parse requirement: found 'x' expected: '('"),
        ("a in (x", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (x,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a in (x y)", "unable to parse requirement: found 'y', expected: ',' or ')'"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        (
            "size gt 4",
            "unable to parse requirement: found 'gt', expected: in, notin, =, ==, !=, gt, lt",
        ),
        (
            "/a=-b",
            'unable to parse requirement: <nil>: Invalid value: "/a": '
            "prefix part must be non-empty",
        ),
        (
            "a>x",
            'unable to parse requirement: values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        (
            f"a in (b,{'x' * 64})",
            f'unable to parse requirement: values[1][a]: Invalid value: "{"x" * 64}": '
            "must be no more than 63 bytes",
        ),
        ("!", "unable to parse requirement: found '', expected: identifier"),
    ],
)
def test_a_broken_text_is_refused_in_the_words_of_kubernetes(text, why):
    with pytest.raises(SelectorError) as refused:
        parse_selector(text)
    assert str(refused.value) == why


def test_comparing_with_something_else_than_an_integer_is_refused():
    with pytest.raises(SelectorError, match="must be an integer"):
        parse_selector("size>big")


def test_a_selector_is_written_with_its_requirements_sorted():
    selector = parse_selector("b in (y, x),a=1,!c,d>5,e!=2")
    assert str(selector) == "a=1,b in (x,y),!c,d>5,e!=2"
    assert parse_selector(str(selector)) == selector


def test_an_absent_selector_matches_nothing_and_an_empty_one_everything():
    assert from_label_selector(None) is NOTHING
    assert not NOTHING.matches({})
    assert from_label_selector(LabelSelector()) == EVERYTHING
    assert EVERYTHING.matches({}) and EVERYTHING.everything


def test_all_parts_of_a_label_selector_must_match():
    selector = from_label_selector(
        LabelSelector(
            match_labels={"app": "web"},
            match_expressions=(
                LabelSelectorRequirement(key="tier", operator="NotIn", values=("back",)),
                LabelSelectorRequirement(key="size", operator="Exists"),
            ),
        )
    )
    assert selector.matches(LABELS)
    assert not selector.matches({**LABELS, "tier": "back"})
    assert not selector.matches({"app": "web"})


@pytest.mark.parametrize(
    "requirement",
    [
        LabelSelectorRequirement(key="a", operator="Gt", values=("1",)),
        LabelSelectorRequirement(key="a", operator="In"),
        LabelSelectorRequirement(key="a", operator="Exists", values=("x",)),
    ],
)
def test_an_impossible_label_requirement_is_refused(requirement):
    with pytest.raises(SelectorError):
        from_label_selector(LabelSelector(match_expressions=(requirement,)))


def test_equal_selectors_are_one_key():
    assert {from_set({"a": "1", "b": "2"}): "x"}[from_set({"b": "2", "a": "1"})] == "x"


def term(*, field=None, **requirements):
    """A node selector term: key="Operator value value"."""
    expressions = []
    for key, text in requirements.items():
        operator, *values = text.split()
        expressions.append(
            NodeSelectorRequirement(key=key, operator=operator, values=tuple(values))
        )
    fields = [NodeSelectorRequirement(key="metadata.name", operator="In", values=(field,))]
    return NodeSelectorTerm(
        match_expressions=tuple(expressions), match_fields=tuple(fields) if field else ()
    )


@pytest.mark.parametrize(
    ("terms", "matches"),
    [
        ([], False),
        ([term()], False),
        ([term(zone="In a b")], True),
        ([term(zone="In c")], False),
        ([term(zone="In c"), term(cpus="Gt 15")], True),
        ([term(zone="In a", cpus="Lt 16")], False),
        ([term(cpus="Gt +15")], True),
        ([term(zone="Gt 1")], False),
        ([term(gpu="DoesNotExist")], True),
        ([term(field="n1")], True),
        ([term(field="n2")], False),
        ([term(field="n1", zone="In b")], False),
    ],
)
def test_a_node_matches_a_node_selector_by_one_of_its_terms(terms, matches):
    selector = NodeSelector(node_selector_terms=tuple(terms))
    assert node_selector_matches(selector, {"zone": "a", "cpus": "16"}, "n1") is matches


def test_a_node_selector_compares_with_exactly_one_integer():
    broken = NodeSelector(node_selector_terms=(term(cpus="Gt many"),))
    with pytest.raises(SelectorError):
        node_selector_matches(broken, {}, "n1")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12),
        ("-12", -12),
        ("+1", 1),
        ("", None),
        ("1_0", None),
        (" 1", None),
        ("0x1", None),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("٣", None),
    ],
)
def test_integers_are_read_as_64_bit_decimals(text, number):
    assert parse_int64(text) == number
