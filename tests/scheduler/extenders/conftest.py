"""Every test has an extender process of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.scheduler.extenders.running import RunningExtender, running_extender


@pytest.fixture
def extender() -> Iterator[RunningExtender]:
    with running_extender() as running:
        yield running
