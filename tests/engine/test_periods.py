"""Times as users write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.errors import BadRequest
from apps.cluster.log.versions import version_before, versions_between
from apps.cluster.models import Change
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.engine.loop import clock
from apps.engine.periods import Period, parse_moment, parse_period

NOW = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("now", "2026-11-22T09:30"),
        ("1h", "2026-11-22T08:30"),
        ("90m", "2026-11-22T08:00"),
        ("1h30m", "2026-11-22T08:00"),
        ("1.5h", "2026-11-22T08:00"),
        ("15 min ago", "2026-11-22T09:15"),
        ("now-2w", "2026-11-08T09:30"),
        ("-7d", "2026-11-15T09:30"),
        # days, clock times and times without an offset are in the zone
        ("today", "2026-11-21T23:00"),
        ("Yesterday", "2026-11-20T23:00"),
        ("09:00", "2026-11-22T08:00"),
        ("2026-11-22", "2026-11-21T23:00"),
        ("2026-11-22T09:00", "2026-11-22T08:00"),
        ("2026-07-01 09:00:30", "2026-07-01T07:00:30"),
        ("2026-11-22T09:00Z", "2026-11-22T09:00"),
        ("2026-11-22T09:00-05:00", "2026-11-22T14:00"),
        # a plus of a query string
        ("2026-11-22T09:00:00 02:00", "2026-11-22T07:00"),
        ("2026-11-22t09:00z", "2026-11-22T09:00"),
        # seconds and milliseconds of the epoch
        ("1795338000", "2026-11-22T09:00"),
        ("1795338000.5", "2026-11-22T09:00:00.5"),
        ("1795338000000", "2026-11-22T09:00"),
        # clocks are set forward from 02:00 to 03:00: no such time
        ("2026-03-29T02:00", "2026-03-29T01:00"),
        ("2026-03-29T02:59:59.9", "2026-03-29T01:00"),
        ("2026-03-29T03:30", "2026-03-29T01:30"),
        # and back from 03:00 to 02:00
        ("2026-10-25T02:30", "2026-10-25T00:30"),
        ("2026-10-25T02:30+01:00", "2026-10-25T01:30"),
    ],
)
def test_a_time_is_read_in_the_zone(text: str, wanted: str) -> None:
    found = parse_moment("since", text, now=NOW, zone=BERLIN)
    assert found == datetime.fromisoformat(wanted).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"since": "sometime"}, "since: 'sometime' is not a time: use a span before now (15m"),
        ({"until": "2026-02-30"}, "until: '2026-02-30' is not a date and time: day is out of"),
        ({"until": "25:00"}, "until: '25:00' is not a date and time: hour"),
        ({"since": "2026-11-22T09:00+25:00"}, "since: '2026-11-22T09:00+25:00' is not a date and "),
        ({"since": "2026-11-22T09:00-99:00"}, "the offset must be between -14:00 and +14:00"),
        ({"since": "2026-11-22 09:00 EST"}, "is not a date and time: use a span before now (15m"),
        ({"since": "99999999999999h"}, "since: '99999999999999h' is outside of the years 1000 to"),
        ({"since": "10000-01-01"}, "is outside of the years 1000 to 9998"),
        ({"since": "0001-01-01T00:00+10:00"}, "is outside of the years 1000 to 9998"),
        ({"since": "9" * 70}, "is too long for a time"),
        ({"since": "1h", "until": "2h"}, "since: '1h' is not before the end, '2h'"),
        ({"since": "1h", "until": "1h"}, "since: '1h' is not before the end, '1h'"),
        ({"zone": "Europe/Atlantis"}, "zone: 'Europe/Atlantis' is not a time zone"),
        ({"zone": "../../etc/passwd"}, "zone: '../../etc/passwd' is not a time zone"),
    ],
)
def test_a_wrong_time_is_an_error_of_its_parameter(query: dict[str, str], message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        parse_period(query, now=NOW)
    assert message in refused.value.message
    field = refused.value.message.partition(":")[0]
    assert [cause["field"] for cause in refused.value.details["causes"]] == [field]


def test_a_period_is_half_open_and_has_lasting_parameters() -> None:
    period = parse_period({"since": "1h", "until": "09:00", "zone": "UTC"}, now=NOW)
    assert period == Period(NOW - timedelta(hours=1), NOW - timedelta(minutes=30))
    assert period.conditions("at") == {"at__gte": period.since, "at__lt": period.until}
    lasting = period.parameters()
    assert lasting == {"since": "2026-11-22T08:30:00Z", "until": "2026-11-22T09:00:00Z"}
    assert parse_period(lasting, now=NOW + timedelta(days=300)) == period
    assert not parse_period({}, now=NOW)


@pytest.mark.parametrize(
    ("zone", "since", "until", "wanted"),
    [
        # an hour that occurs twice is in the period as a whole
        ("Europe/Berlin", "2026-10-25T02:00", "2026-10-25T02:45", ("00:00", "01:45")),
        ("America/New_York", "2026-11-01T01:30", "2026-11-01T01:45", ("05:30", "06:45")),
        # one that is skipped is an empty part of it
        ("Europe/Berlin", "2026-03-29T02:30", "2026-03-29T03:30", ("01:00", "01:30")),
        ("America/New_York", "2026-03-08T01:30", "2026-03-08T02:30", ("06:30", "07:00")),
        # a day ends at the first of two midnights, and starts where midnight is skipped
        ("America/Havana", "2026-11-01", "2026-11-01T00:30", ("04:00", "05:30")),
        ("America/Havana", "2026-10-31T23:00", "2026-11-01", ("03:00", "04:00")),
        ("Africa/Cairo", "2026-04-24", "2026-04-24T02:00", ("22:00", "23:00")),
    ],
)
def test_a_period_misses_nothing_when_clocks_change(
    zone: str, since: str, until: str, wanted: tuple[str, str]
) -> None:
    period = parse_period({"since": since, "until": until, "zone": zone}, now=NOW)
    assert period.since is not None
    assert period.until is not None
    assert (f"{period.since:%H:%M}", f"{period.until:%H:%M}") == wanted


@pytest.mark.django_db
def test_versions_are_found_by_time_across_gaps() -> None:
    cluster = create_cluster("lab", user="alice")
    clock.set_manual(cluster)
    starts: list[tuple[datetime, int]] = []
    for number in range(12):
        clock.advance(cluster, 3600)
        cluster.refresh_from_db()
        body = {"metadata": {"name": f"n-{number}"}, "value": number}
        created = store.create(cluster, kinds.PRIORITY_CLASS, body, actor=Actor("alice"))
        starts.append((cluster.now(), int(created["metadata"]["resourceVersion"])))
    top = starts[-1][1]
    Change.objects.filter(cluster=cluster, version__in=[starts[3][1], starts[4][1]]).delete()
    first = Change.objects.filter(cluster=cluster).earliest("version")
    for at, version in starts[5:]:
        assert version_before(cluster.pk, at, top=top) == version - 1
    # in a gap, any version of it says the same
    assert starts[2][1] <= version_before(cluster.pk, starts[4][0], top=top) < starts[5][1]
    assert version_before(cluster.pk, first.at, top=top) < first.version
    assert version_before(cluster.pk, starts[-1][0] + timedelta(seconds=1), top=top) == top
    low, high = versions_between(cluster.pk, starts[6][0], starts[8][0], top=top)
    assert starts[5][1] < low <= starts[6][1] and starts[7][1] <= high < starts[9][1]
