"""Decisions in groups on the page and in the API, saved views, and completion of filters."""

from __future__ import annotations

import csv
import json
import re
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.cluster.models import Cluster
from apps.cluster.roles import Role
from apps.engine.ledger import aggregating
from apps.engine.models import SavedView, SchedulingDecision
from apps.people import members
from tests.dashboard.conftest import shown

pytestmark = pytest.mark.django_db

PAGE, API = "/clusters/lab/decisions", "/api/v1/clusters/lab"


def groups(client: Client, **query: Any) -> dict[str, Any]:
    answer = client.get(f"{API}/decisions/aggregate?{urlencode(query)}")
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def rows_behind(client: Client, address: str) -> int:
    found = client.get(address)
    assert found.status_code == 200
    return len(found.context["decisions"].page.rows)


def test_which_pods_were_rejected_by_a_taint_is_a_list_of_pods(alice: Client, lab: Cluster) -> None:
    query = {"group": "pod", "plugin": "TaintToleration", "result": "unschedulable"}
    (group,) = groups(alice, **query)["groups"]
    assert group["keys"] == {"pod": "default/huge"} and group["filters"] == {"pod": "default/huge"}
    assert (group["decisions"], group["pods"], group["failed"]) == (1, 1, 1)
    row = SchedulingDecision.objects.get(cluster=lab, name="huge")
    times = [group[name] for name in ("p50_us", "p99_us", "max_us")]
    assert times == [row.duration_us] * 3 and group["max_attempt"] == row.attempt
    page = shown(alice, f"{PAGE}?{urlencode(query)}")
    assert ">default/huge</a>" in page and "1 decision about 1 pod in 1 group" in page


def test_each_grouping_counts_every_decision_and_links_to_its_rows(
    alice: Client, lab: Cluster
) -> None:
    everything = SchedulingDecision.objects.filter(cluster=lab).count()
    for name in ("pod", "workload", "namespace", "result", "profile", "revision", "hour", "day"):
        found = groups(alice, group=name)
        assert sum(group["decisions"] for group in found["groups"]) == everything, name
        assert found["decisions"] == everything and not found["is_limited"]
        listed = alice.get(f"{PAGE}?group={name}").context["decisions"].groups
        for row in listed.page.rows:
            assert rows_behind(alice, row.address) == row.group.decisions, (name, row.texts)
    for name in ("node", "plugin", "reason", "main_plugin", "main_reason"):
        for row in alice.get(f"{PAGE}?group={name}").context["decisions"].groups.page.rows:
            assert rows_behind(alice, row.address) == row.group.decisions, (name, row.texts)
    nodes = {group["keys"]["node"] for group in groups(alice, group="node")["groups"]}
    assert nodes == set(
        SchedulingDecision.objects.filter(cluster=lab)
        .exclude(node="")
        .values_list("node", flat=True)
    )


def test_two_dimensions_sorting_and_files(alice: Client, lab: Cluster) -> None:
    found = groups(alice, group="namespace,result", sort="decisions")
    assert [group["keys"]["result"] for group in found["groups"]] == ["unschedulable", "scheduled"]
    page = alice.get(f"{PAGE}?group=namespace&then=result&sort=-decisions&page=1&size=25")
    assert page.context["decisions"].groups.page.rows[0].group.decisions == 3
    files = dict(page.context["decisions"].groups.files)
    lines = list(csv.DictReader(alice.get(files["CSV"]).content.decode().splitlines()))
    assert [(line["namespace"], line["result"], line["decisions"]) for line in lines] == [
        ("default", "scheduled", "3"),
        ("default", "unschedulable", "1"),
    ]
    # times are written alike in all files
    in_json = alice.get(files["JSON"]).json()
    assert in_json["total"] == 2
    for name in ("first", "last"):
        assert [line[name] for line in lines] == [group[name] for group in in_json["groups"]]
    exports = [alice.get(f"{API}/decisions/export?format={each}") for each in ("csv", "json")]
    content = [b"".join(each.streaming_content).decode() for each in exports]
    in_rows = [row["at"] for row in csv.DictReader(content[0].splitlines())]
    assert in_rows == [row["at"] for row in json.loads(content[1])]
    slowest = groups(alice, group="decision")["groups"]
    durations = [group["max_us"] for group in slowest]
    assert durations == sorted(durations, reverse=True) and len(durations) == 4
    assert "attempt 1</a>" in shown(alice, f"{PAGE}?group=decision")


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("group=planet", "group: 'planet'"),
        ("group=pod,node,result", "group: at most 2"),
        ("group=plugin,reason", "group: 'plugin' and 'reason'"),
        ("", "group: required"),
        ("group=pod&sort=size", "sort: 'size'"),
        ("group=pod&page_size=many", "page_size: 'many'"),
        ("group=pod&nod=a", "nod: unknown parameter"),
        ("group=pod&since=soon", "since: 'soon'"),
    ],
)
def test_an_invalid_aggregation_names_the_parameter(
    alice: Client, lab: Cluster, query: str, named: str
) -> None:
    answer = alice.get(f"{API}/decisions/aggregate?{query}")
    assert answer.status_code == 400 and named in answer.json()["message"]


def test_a_large_ledger_is_aggregated_in_part_and_the_page_says_so(
    alice: Client, lab: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aggregating, "MAX_DECISIONS", 2)
    found = groups(alice, group="result")
    assert found["is_limited"] and found["decisions"] == 2
    assert "Only the newest 2 of these decisions" in shown(alice, f"{PAGE}?group=result")
    assert alice.get(f"{PAGE}?group=plugin&then=reason").status_code == 422


def test_every_ready_view_opens(alice: Client, lab: Cluster) -> None:
    ready = alice.get(PAGE).context["decisions"].ready
    assert "Pods rejected mainly by taints today" in [view.label for view in ready]
    for view in ready:
        page = alice.get(view.address)
        assert page.status_code == 200 and page.context["decisions"].problem == "", view.label
        assert [each.label for each in page.context["decisions"].ready if each.is_current] == [
            view.label
        ]


@pytest.mark.parametrize(
    ("field", "text", "expected"),
    [
        ("pod", "web", ["web-0", "web-1", "web-2"]),
        ("pod", "default/hu", ["default/huge"]),
        ("pod", "default/*", ["default/huge", "default/web-0", "default/web-1", "default/web-2"]),
        ("pod", "defa", ["default/*"]),
        ("pod", "%", []),
        ("node", "PU", ["gpu-1"]),
        ("namespace", "defa", ["default"]),
        ("plugin", "taint", ["TaintToleration"]),
        ("reason", "CPU", ["Insufficient cpu"]),
        ("profile", "", ["default-scheduler"]),
        ("text", "cpu", []),
    ],
)
def test_filters_complete_what_is_typed(
    alice: Client, lab: Cluster, field: str, text: str, expected: list[str]
) -> None:
    answer = alice.get(f"/clusters/lab/complete-filter?{urlencode({field: text})}")
    options = answer.content.decode().split('value="')[1:]
    assert [option.partition('"')[0] for option in options] == expected


@pytest.mark.parametrize(
    ("page", "field"), [("changes", "namespace"), ("events", "namespace"), ("pods", "node")]
)
def test_other_lists_complete_namespaces_and_nodes(
    alice: Client, lab: Cluster, page: str, field: str
) -> None:
    text = alice.get(f"/clusters/lab/{page}").content.decode()
    (found,) = re.findall(rf'<input[^>]*name="{field}"[^>]*>', text)
    assert (
        'hx-get="/clusters/lab/complete-filter"' in found and f'list="suggested-{field}"' in found
    )


def test_a_view_is_saved_shared_renamed_and_deleted(alice: Client, lab: Cluster) -> None:
    bob = Client()
    bob.force_login(User.objects.create_superuser("bob", password="of the builders"))
    query = "group=pod&then=result&plugin=TaintToleration&sort=-pods"
    assert f"/clusters/lab/new-view?{query.replace('&', '&amp;')}" in shown(
        alice, f"{PAGE}?{query}"
    )
    saved = alice.post(f"/clusters/lab/new-view?{query}", {"name": " tainted "})
    assert saved.status_code == 302
    view = SavedView.objects.get(cluster=lab)
    assert view.name == "tainted"
    wanted = {"group": "pod,result", "plugin": "TaintToleration", "sort": "-pods"}
    assert view.query == wanted and alice.get(f"{API}/views/{view.pk}").json()["query"] == wanted
    permalink = f"/clusters/lab/views/{view.pk}"
    opened = urlsplit(alice.get(permalink)["Location"])
    assert parse_qs(opened.query) == {
        **parse_qs(query),
        "view": [str(view.pk)],
    }
    assert ">tainted</h1>" in shown(alice, alice.get(permalink)["Location"])
    # of another user until it is shared
    assert bob.get(permalink).status_code == 404
    again = alice.post(f"/clusters/lab/new-view?{query}", {"name": "tainted"})
    assert again.status_code == 422 and "You have a view with this name" in again.content.decode()
    alice.post(f"{permalink}/edit", {"name": "by taint", "shared": "on"})
    assert "by taint" in shown(bob, "/clusters/lab/views") and "tainted" not in shown(bob, PAGE)
    assert bob.get(permalink).status_code == 302
    assert bob.post(f"{permalink}/edit", {"name": "mine"}).status_code == 403
    assert bob.post(f"{permalink}/delete").status_code == 403
    assert bob.delete(f"{API}/views/{view.pk}").status_code == 403
    assert alice.post(f"{permalink}/delete").status_code == 302
    assert alice.get(permalink).status_code == 404


def test_a_view_shows_everyone_the_same_period(alice: Client, lab: Cluster) -> None:
    """Whoever saves 09:00 in Kolkata does not send the others 09:00 of their zones."""
    alice.cookies.load({"schedweb-zone": "Asia/Kolkata"})
    query = urlencode({"since": "2026-11-22T09:00", "until": "2026-11-23", "pod": "web-1"})
    alice.post(f"/clusters/lab/new-view?{query}", {"name": "incident", "shared": "on"})
    view = SavedView.objects.get(cluster=lab)
    fixed = {"since": "2026-11-22T09:00:00+05:30", "until": "2026-11-23T00:00:00+05:30"}
    assert view.query == {"pod": "web-1", **fixed}
    bob = Client()
    bob.force_login(User.objects.create_user("bob", password="of the builders"))
    assert bob.get(f"/clusters/lab/views/{view.pk}").status_code == 404
    members.add_member(lab, user="bob", role=Role.VIEWER, actor="alice")
    bob.cookies.load({"schedweb-zone": "America/New_York"})
    page = bob.get(bob.get(f"/clusters/lab/views/{view.pk}")["Location"]).content.decode()
    assert ">2026-11-21 22:30:00 EST<" in page and ">2026-11-22 13:30:00 EST<" in page
    # a viewer opens it, has views, and changes only these
    assert bob.get(f"{API}/views/{view.pk}").json()["query"] == view.query
    assert "save changes" not in page
    assert bob.post(f"/clusters/lab/views/{view.pk}/edit", {"name": "taken"}).status_code == 403
    assert bob.post("/clusters/lab/new-view?group=pod", {"name": "own"}).status_code == 302
    # renaming changes nothing, and relative times stay relative
    alice.post(f"/clusters/lab/views/{view.pk}/edit", {"name": "outage"})
    view.refresh_from_db()
    assert (view.name, view.query) == ("outage", {"pod": "web-1", **fixed})
    alice.post("/clusters/lab/new-view?since=yesterday&until=09:00", {"name": "night"})
    night = SavedView.objects.get(cluster=lab, name="night")
    assert night.query == {"since": "yesterday", "until": "09:00"}
    body = {"name": "rest", "query": {"since": "2026-11-22", "zone": "Asia/Kolkata"}}
    created = alice.post(f"{API}/views", body, content_type="application/json").json()
    assert created["query"]["since"] == "2026-11-22T00:00:00+05:30"


def test_a_period_has_a_link_with_fixed_times(alice: Client, lab: Cluster) -> None:
    """`Last hour` as two times, which select the same rows for everyone, now and later."""
    alice.cookies.load({"schedweb-zone": "Asia/Kolkata"})
    page = alice.get(f"{PAGE}?since=1h&namespace=default&before=999999999999999")
    (link,) = re.findall(r'href="([^"]*)">Link with fixed times<', page.content.decode())
    address = urlsplit(link.replace("&amp;", "&"))
    query = {name: value for name, (value,) in parse_qs(address.query).items()}
    assert (address.path, query["namespace"], sorted(query)) == (
        PAGE,
        "default",
        ["namespace", "since", "until"],
    )
    assert query["since"].endswith("Z") and query["until"].endswith("Z")
    assert rows_behind(alice, address.geturl()) == rows_behind(alice, f"{PAGE}?since=1h")


def test_views_in_the_api(alice: Client, lab: Cluster) -> None:
    def post(body: Any) -> Any:
        return alice.post(f"{API}/views", body, content_type="application/json")

    created = post({"name": "failed", "query": {"result": "unschedulable", "pod": ""}})
    assert created.status_code == 201 and created.json()["query"] == {"result": "unschedulable"}
    address = f"{API}/views/{created.json()['id']}"
    assert post({"name": "failed"}).status_code == 409
    for body, field in (
        ({"name": ""}, "name"),
        ({"name": "x", "query": {"result": "lost"}}, "query.result"),
        ({"name": "x", "query": {"colour": "red"}}, "query.colour"),
        ({"name": "x", "query": {"group": "planet"}}, "query.group"),
    ):
        answer = post(body)
        assert answer.status_code == 400 and field in answer.json()["message"]
    changed = alice.patch(address, {"name": "lost"}, content_type="application/json")
    assert (changed.json()["name"], changed.json()["query"]) == (
        "lost",
        {"result": "unschedulable"},
    )
    assert [view["name"] for view in alice.get(f"{API}/views").json()["results"]] == ["lost"]
    assert alice.delete(address).status_code == 204 and alice.get(address).status_code == 404
