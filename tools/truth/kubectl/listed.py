"""What docs/differences.md lists, removed from outcomes of kubectl."""

from __future__ import annotations

from tests.stack.kubectl import Outcome


def without_listed(outcome: Outcome, line: str) -> Outcome:
    """The outcome of this command without what is listed."""
    return outcome
