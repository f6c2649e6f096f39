"""Small bodies that stand for much work are refused, or answered, within a moment."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from apps.cluster import limits
from apps.cluster.documents import UnreadableDocument, parse_json, parse_yaml, parse_yaml_stream
from apps.cluster.validation.custom_rules import apply_rules
from apps.cluster.validation.policy_programs import programs_of
from apps.scheduler.config.errors import ConfigError
from apps.scheduler.config.reading import read
from tests.api.conftest import Kube
from tests.api.objects import PODS

#: Every level merges the one above it ten times.
MERGES = "a0: &a0 {k: v}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}], k{n}: v}}\n" for n in range(1, 10)
)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Processor time of this thread: other processes do not count."""
    start = time.thread_time()
    yield
    assert time.thread_time() - start < seconds


def test_merge_keys_that_multiply_are_refused() -> None:
    assert len(MERGES) < 700
    with within(5), pytest.raises(UnreadableDocument, match="merge keys copy too many values"):
        parse_yaml(MERGES)
    with within(5), pytest.raises(ConfigError, match="more than 100000 values"):
        read(MERGES)


def test_merge_keys_of_an_ordinary_document_are_followed() -> None:
    text = "base: &base {cpu: '1'}\nlarge: {<<: *base, memory: 1Gi}\n"
    assert parse_yaml(text)["large"] == {"cpu": "1", "memory": "1Gi"}


MOST = limits.DOCUMENT_VALUES.highest


@pytest.mark.parametrize(
    "text",
    [
        b"[" + b"1," * MOST + b"1]",
        b"{}," * MOST,
        b'{"k":{' + b'"a\\"":"b",' * (MOST // 2) + b'"":""}}',
        b'"' + b'\\"' * MOST,
    ],
)
def test_json_of_too_many_values_is_not_decoded(text: bytes) -> None:
    with within(2), pytest.raises(UnreadableDocument):
        parse_json(text)


def test_marks_in_the_texts_of_json_are_no_values() -> None:
    assert parse_json(b'["' + b',[{\\"' * MOST + b'"]') == [',[{"' * MOST]
    many = b"[" + b"1," * (MOST - 2) + b"1]"
    assert len(parse_json(many)) == MOST - 1


def test_yaml_of_too_many_values_is_refused_before_it_is_built() -> None:
    with pytest.raises(UnreadableDocument, match="too large"):
        parse_yaml("[" + "1," * MOST + "1]")
    assert len(list(parse_yaml_stream("---\n[1, 2]\n" * 300))) == 300


def ruled(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "x-kubernetes-validations": [{"rule": "true"}]}


def test_rules_of_a_wide_schema_for_many_values_take_linear_time() -> None:
    wide = {"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(2000)}}
    schema = {"type": "object", "properties": {"l": {"type": "array", "items": ruled(wide)}}}
    with within(4):
        assert list(apply_rules(schema, {"l": [{"f1": "a"}] * 40_000}, None)) == []


def test_rules_on_every_level_of_a_deep_value_take_linear_time() -> None:
    schema: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
    value: Any = ["x"] * 100_000
    for _ in range(100):
        schema, value = ruled({"type": "object", "properties": {"a": schema}}), {"a": value}
    with within(2):
        assert list(apply_rules(schema, value, None)) == []


def test_variables_of_a_policy_take_linear_time() -> None:
    given = [{"name": f"v{n}", "expression": "1"} for n in range(40_000)]
    checks = [{"expression": "variables.v39999 == 1"}]
    with within(6):
        found = programs_of({"variables": given, "validations": checks})
    assert found.checks[0].expression.program is not None


@pytest.mark.django_db
@pytest.mark.parametrize("validation", ["Warn", "Strict"])
def test_many_duplicate_keys_take_no_time_and_few_warnings(kube: Kube, validation: str) -> None:
    labels = ",".join(f'"k{n}":"a","k{n}":"b"' for n in range(20_000))
    body = (
        f'{{"metadata":{{"name":"p","labels":{{{labels}}}}},'
        '"spec":{"containers":[{"name":"c","image":"i"}]}}'
    )
    with within(10):
        answer = kube.post(f"{PODS}?fieldValidation={validation}", body)
    assert answer.status_code in (201, 400, 413, 422)
    assert len(answer.headers.get("Warning", "")) < 10_000
    assert len(answer.content) < 5_000_000
    small = (
        '{"metadata":{"name":"q","labels":{"a":"1","a":"2","a":"3"}},'
        '"spec":{"containers":[{"name":"c","image":"i","image":"i"}]}}'
    )
    answer = kube.post(f"{PODS}?fieldValidation=Warn", small)
    assert answer.headers["Warning"] == (
        '299 - "duplicate field \\"metadata.labels.a\\"", '
        '299 - "duplicate field \\"spec.containers[0].image\\""'
    )
