"""The viewer's zone: what pages show, what they parse, and what the API does with it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from apps.cluster.models import Cluster
from apps.engine.models import SchedulingDecision

pytestmark = pytest.mark.django_db

TOKYO = {"schedweb-zone": "Asia%2FTokyo"}


def test_a_page_shows_and_parses_times_in_the_zone_of_the_viewer(
    alice: Client, lab: Cluster
) -> None:
    row = SchedulingDecision.objects.filter(cluster=lab).latest("pk")
    there = row.at + timedelta(hours=9)
    alice.cookies.load(TOKYO)
    page = alice.get(f"/clusters/lab/decisions/{row.pk}").content.decode()
    assert f"{there:%Y-%m-%d %H:%M:%S} JST" in page
    assert f'title="{row.at:%Y-%m-%d %H:%M:%S} UTC"' in page
    assert "Times are in Asia/Tokyo (UTC+09:00)." in " ".join(page.split())
    assert "zone.js" not in page

    # the clock time that the page shows selects the decision; the same digits in UTC do not
    before = f"{there - timedelta(minutes=5):%Y-%m-%dT%H:%M}"
    after = f"{there + timedelta(minutes=5):%Y-%m-%dT%H:%M}"
    address = f"/clusters/lab/decisions?since={before}&until={after}"
    found = alice.get(address)
    assert row in found.context["decisions"].page.rows
    files = dict(found.context["decisions"].files)
    since = (row.at - timedelta(minutes=5)).replace(second=0, microsecond=0)
    assert f"since={since:%Y-%m-%dT%H}%3A{since:%M}%3A00Z" in files["JSON"]
    assert not alice.get(f"{address}&zone=UTC").context["decisions"].page.rows
    api = f"/api/v1{address}"
    assert alice.get(api).json()["results"] == []
    (first, *_) = alice.get(f"{api}&zone=Asia/Tokyo").json()["results"]
    assert datetime.fromisoformat(first["at"]).utcoffset() == UTC.utcoffset(None)


@pytest.mark.parametrize("cookie", ["", "Mars/Olympus", "../../etc/passwd", "%00"])
def test_without_a_valid_zone_times_are_in_utc_and_the_browser_is_asked(
    alice: Client, lab: Cluster, cookie: str
) -> None:
    alice.cookies.load({"schedweb-zone": cookie})
    page = alice.get("/clusters/lab/changes").content.decode()
    assert "Times are in UTC." in page and "js/zone.js" in page


def test_full_times_are_written_out_for_who_has_no_pointer(alice: Client, lab: Cluster) -> None:
    row = SchedulingDecision.objects.filter(cluster=lab).latest("pk")
    at = f"{row.at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    pages = ("/clusters/lab/decisions", "/clusters/lab")
    for page in pages:
        text = alice.get(page).content.decode()
        assert "Show full times" in text
        assert not re.search(rf">[^<]*{at}", text)
    back = alice.post("/account/times", {"times": "full", "next": pages[0]})
    assert back.status_code == 302 and back["Location"] == pages[0]
    for page in pages:
        text = alice.get(page).content.decode()
        assert "Show short times" in text
        assert re.search(rf">[^<]*{at}", text)
    assert '<option value="full" selected>' in alice.get("/account").content.decode()
    alice.post("/account/times", {"times": "short", "next": pages[0]})
    assert "Show full times" in alice.get(pages[0]).content.decode()


@pytest.mark.parametrize("page", ["decisions", "changes", "events?expired=true", "queue/history"])
def test_every_log_has_periods_files_and_errors_of_its_fields(
    alice: Client, lab: Cluster, page: str
) -> None:
    joined = f"{page}{'&' if '?' in page else '?'}"
    shown = alice.get(f"/clusters/lab/{joined}since=1h").content.decode()
    assert "Last 15 minutes" in shown and re.search(r">1 h</time>\s+ago", shown)
    links = re.findall(r'href="(/api/[^"]+)"\s+download', shown)
    assert len(links) == 3 and all("since=20" in link for link in links)
    for link in links:
        answer = alice.get(link.replace("&amp;", "&"))
        assert b"default" in b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    later = " ".join(alice.get(f"/clusters/lab/{joined}since=2h&until=1h").content.decode().split())
    assert "in this period. The newest is from" in later and "Show all" in later
    assert "Show last 15 minutes" in later and "since=15m" in later
    wrong = alice.get(f"/clusters/lab/{joined}since=1h&until=2h")
    assert wrong.status_code == 422 and "From: " in wrong.content.decode()
    assert "is not before the end" in wrong.content.decode()
    wrong = alice.get(f"/clusters/lab/{joined}until=soon").content.decode()
    assert "To: " in wrong and "until: " not in wrong
    api = alice.get(f"/api/v1/clusters/lab/{joined}since=1h&until=2h")
    assert api.status_code == 400 and api.json()["causes"][0]["field"] == "since"
    inside = alice.get(f"/api/v1/clusters/lab/{joined}since=1h").json()["results"]
    assert inside and not alice.get(f"/api/v1/clusters/lab/{joined}until=1h").json()["results"]
    assert Client().get(f"/api/v1/clusters/lab/{page}").status_code == 401
