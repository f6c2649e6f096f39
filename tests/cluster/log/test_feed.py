"""A feed holds the latest changes of a cluster for all watches of a process."""

from __future__ import annotations

from datetime import UTC, datetime

from apps.cluster.log.changelog import LoggedChange
from apps.cluster.log.feed import CAPACITY, ChangeFeed


def change(version: int) -> LoggedChange:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return LoggedChange(version, "ADDED", "Pod", "default", "p", "u", "{}", None, at, "me", "")


def versions(feed: ChangeFeed, after: int) -> list[int] | None:
    found = feed.after(after)
    return None if found is None else [each.version for each in found]


def test_a_reader_gets_the_changes_after_its_version() -> None:
    feed = ChangeFeed(10)
    assert versions(feed, 10) == []
    feed.extend([change(11), change(12)])
    feed.extend([change(14)])
    assert versions(feed, 10) == [11, 12, 14]
    assert versions(feed, 12) == [14]
    assert versions(feed, 20) == []


def test_a_reader_that_is_too_far_behind_has_to_read_the_log() -> None:
    feed = ChangeFeed(0)
    assert versions(ChangeFeed(5), 4) is None
    feed.extend([change(version) for version in range(1, CAPACITY + 3)])
    assert versions(feed, 1) is None
    found = versions(feed, 2)
    assert found is not None
    assert (found[0], len(found)) == (3, CAPACITY)


def test_a_change_is_encoded_once_for_each_form() -> None:
    feed = ChangeFeed(0)
    feed.extend([change(1)])
    calls: list[str] = []

    def encode() -> bytes:
        calls.append("")
        return b"line"

    for key in ("v1", "v1", "v2", "v1"):
        assert feed.encode_once(1, key, encode) == b"line"
    assert len(calls) == 2
