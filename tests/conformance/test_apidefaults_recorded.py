"""Pods as an API server stores them, against 338 recorded ones."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from apps.cluster.admission.conformance import check_apidefaults

FILE = Path(__file__).parent / "data" / "apidefaults.jsonl.gz"


def recorded():
    with gzip.open(FILE, "rt") as lines:
        records = map(json.loads, lines)
        return [pytest.param(r["case"], r["expect"], id=r["case"]["id"]) for r in records]


@pytest.mark.parametrize(("case", "expect"), recorded())
def test_a_pod_gets_the_recorded_defaults(case, expect):
    assert check_apidefaults(case, expect) == []
