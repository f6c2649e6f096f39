"""Rows that were written before their columns had a version are read to the same values.

`data/first_format.jsonl` was recorded by the code that wrote them: a row, the names of its nodes
and what was read from it. Two rows lack the fields that were added later, and the dictionary.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest

from apps.engine.ledger.reading import read
from apps.engine.models import NodeTable, SchedulingDecision
from tests.engine.ledger.examples import facts

_DATA = Path(__file__).with_name("data") / "first_format.jsonl"
RECORDED = [msgspec.json.decode(line) for line in _DATA.read_text().splitlines()]


@pytest.mark.django_db
@pytest.mark.parametrize("recorded", RECORDED, ids=[each["case"] for each in RECORDED])
def test_a_row_of_the_first_format_is_read(recorded: dict[str, Any]) -> None:
    table = NodeTable.objects.create(
        cluster_id=7, digest=b"", names=base64.b64decode(recorded["names"])
    )
    blob = base64.b64decode(recorded["columns"])
    row = SchedulingDecision(**recorded["row"], node_table=table, columns=blob)
    record = read(row)
    assert facts(record.decision) == recorded["decision"]
    seen = record.seen
    assert recorded["seen"] == {
        "loaded_at": seen.loaded_at,
        # the sequence was added later, and is 0 in these rows
        "expected": [[each.uid, each.node, each.version] for each in seen.expected],
        "released": list(seen.released),
        "undone": record.undone,
    }
    assert not any(each.sequence for each in seen.expected)
    assert list(record.draws) == recorded["draws"]
