"""The table of what a request may name: documented, and the same wherever an amount is given."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from apps.cluster import limits
from apps.cluster.limits import Limit
from apps.cluster.models import Cluster
from apps.scheduler.config import ConfigError
from apps.scheduler.config.reading import read

DOCUMENT = Path(__file__).parents[2] / "docs/limits.md"
HUGE = 1_000_000_000


def test_documentation_has_every_limit() -> None:
    rows = re.findall(r"^\| (.+) \| ([\d,]+) \| ([\d,]+) \|$", DOCUMENT.read_text(), re.M)
    expected = [(each.of, f"{each.lowest:,}", f"{each.highest:,}") for each in limits.TABLE]
    assert rows == expected


def test_configurations_have_the_documented_size() -> None:
    text = "# " + "x" * limits.CONFIGURATION_BYTES.highest
    with pytest.raises(ConfigError, match="at most 262,144 are read"):
        read(text)
    assert read("a: 1 " + text[: -len("a: 1 ") - 2]) == {"a": 1}


@pytest.fixture
def alice(transactional_db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("alice"))
    return client


@pytest.mark.parametrize(("field", "limit"), [("nodes", limits.NODES), ("zones", limits.ZONES)])
def test_huge_cluster_is_refused_everywhere(alice: Client, field: str, limit: Limit) -> None:
    message = f"must be {limit}"
    with pytest.raises(CommandError, match=f"{field}: .*{message}"):
        call_command("create_cluster", "huge", f"--{field}", str(HUGE), stdout=StringIO())
    body = {"name": "huge", field: HUGE}
    answer = alice.post("/api/v1/clusters", body, "application/json")
    assert answer.status_code in (400, 422), answer.content
    assert field in answer.content.decode()
    page = alice.post("/new-cluster", {"name": "huge", "nodes": 1, "zones": 1, field: HUGE})
    assert page.status_code == 422
    assert f"less than or equal to {limit.highest}" in page.content.decode()
    assert not Cluster.objects.exists()
