"""Binary arrays as parameters, and several steps as one statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.db import DataError
from psycopg.types.numeric import Int4, Int8

from apps.cluster import arrays
from apps.cluster.exchange import exchange
from apps.cluster.prepared import Step, execute_together, prepared_cursor, send_together

pytestmark = pytest.mark.django_db

UIDS = ["6f1f5a0c-3c68-4d43-9d27-0d5b9d7f6a01", "6f1f5a0c3c684d439d270d5b9d7f6a02"]
TIMES = [datetime(1999, 12, 31, 23, 59, 59, 1, tzinfo=UTC), None, datetime(2090, 1, 1, tzinfo=UTC)]
WORDS = ["", "a", "quote ' and \" and \\", "{a,b}", "NULL", "ü\n€"]


def read_back(array: arrays.BinaryArray, cast: str = "") -> list[Any]:
    with prepared_cursor() as cursor:
        cursor.execute(f"SELECT value{cast} FROM unnest($1) AS value", [array])
        return [value for (value,) in cursor.fetchall()]


@pytest.mark.parametrize(
    ("encode", "values"),
    [
        (arrays.int4s, [0, -1, 2**31 - 1]),
        (arrays.int8s, [0, None, -(2**63)]),
        (arrays.texts, WORDS),
        (arrays.texts, ["a", None, "a", "", None]),
        (arrays.blobs, [b"", b"\x00\xff"]),
        (arrays.times, TIMES),
        (arrays.texts, []),
    ],
)
def test_values_come_back(encode: Callable[[Sequence[Any]], Any], values: list[Any]) -> None:
    assert read_back(encode(values)) == values


def test_uuids_come_back() -> None:
    assert read_back(arrays.uuids(UIDS)) == [UUID(uid) for uid in UIDS]


@pytest.mark.parametrize("text", ["", "6f1f", "not a uuid"])
def test_what_is_no_uuid_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        arrays.uuids([UIDS[0], text])


def test_arrays_within_a_column_come_back() -> None:
    values = [[], WORDS, ["one"]]
    assert read_back(arrays.nested(values), "::text[]") == values


def test_json_within_a_column_comes_back() -> None:
    assert read_back(arrays.documents([b'{"a": "\xc3\xbc"}']), "::jsonb") == [{"a": "ü"}]


def test_steps_number_their_parameters_themselves() -> None:
    steps = [
        Step("first", "SELECT $1::bigint AS value", [Int8(7)], "max(value)"),
        Step("second", "SELECT value + $1 AS value FROM first", [Int8(5)]),
        Step("third", "SELECT value FROM second", (), "max(value)"),
    ]
    assert execute_together(steps) == {"first": 7, "third": 12}
    assert execute_together([]) == {}


def division(by: int) -> Step:
    return Step("ratio", "SELECT 1 / $1::int AS n", [Int4(by)], "max(n)")


@pytest.mark.django_db(transaction=True)
def test_a_transaction_needs_the_result_of_each_step() -> None:
    missing = Step("lock", "SELECT 1 WHERE $1::bigint = 8", [Int8(7)], "count(*)")
    with exchange() as sent, pytest.raises(DataError, match="division by zero"):
        sent.begin()
        send_together(sent, [division(1), missing])
        sent.commit()
        sent.receive()
    with exchange() as sent:
        sent.begin()
        send_together(sent, [division(1)])
        sent.commit()
        sent.receive()
