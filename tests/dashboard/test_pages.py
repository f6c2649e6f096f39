"""Every page opens, shows its contents, and takes a bounded number of queries."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writing import store
from apps.dashboard import navigation
from apps.dashboard.paging import log_page
from apps.engine.ledger.reading import read
from apps.engine.ledger.rows import LedgerWriter
from apps.engine.models import SchedulingDecision
from apps.scheduler.decision import PermitWait
from apps.scheduler.framework.extender_calls import ExtenderCall, ExtenderVerb
from apps.scheduler.framework.status import SUCCESS
from tests.dashboard.conftest import ACTOR, add_pods, pod, shown

pytestmark = pytest.mark.django_db

#: Two statements of each count find the session and the user, one the cluster.
PAGES = [
    ("", "Nodes by topology", 14),
    ("/queue", "activeQ", 10),
    ("/queue?queue=gated&sort=-since", "example.com/quota", 10),
    ("/queue/history", "ScheduleAttemptFailure", 5),
    ("/queue/history?pod=huge&event=Pop", "huge", 5),
    ("/nodes", "gpu-1", 6),
    ("/nodes/gpu-1", "dedicated=gpu:NoSchedule", 13),
    ("/pods", "web-1", 8),
    ("/pods/default/web-1", "node-", 15),
    ("/pods/default/huge", "Insufficient cpu", 18),
    ("/decisions", "0/4 nodes are available", 6),
    ("/events", "FailedScheduling", 5),
    ("/changes", "spec.nodeName", 5),
    ("/changes/1", "was created", 6),
    ("/profiles", "built in", 6),
    ("/profiles/1", "NodeResourcesFit", 9),
    ("/compare-profiles", "No difference", 7),
    ("/profiles/1/activate", "This revision is already active", 9),
    ("/objects", "PriorityClass", 6),
    ("/objects/priorityclasses.scheduling.k8s.io", "system-node-critical", 6),
    ("/objects/priorityclasses.scheduling.k8s.io/system-node-critical", "2000001000", 8),
    ("/new/deployments.apps", "kind: Deployment", 3),
    ("/new-pod", "Scheduling gates", 6),
    ("/new-node", "Taints", 3),
    ("/new-profile", "KubeSchedulerConfiguration", 6),
    ("/import?example=pod", "kind: Pod", 3),
    ("/delete", "Type <code>lab</code>", 8),
    ("/edit/pods/default/web-1", "nodeName: node-", 5),
    ("/delete/nodes/node-1", "left without a node", 6),
    ("/delete/pods/default/web-1", "Its requests are freed", 5),
]


@pytest.mark.parametrize(("path", "shown", "queries"), PAGES)
def test_a_page_opens_with_a_bounded_number_of_queries(
    alice: Client,
    lab: Cluster,
    django_assert_max_num_queries: Any,
    path: str,
    shown: str,
    queries: int,
) -> None:
    with django_assert_max_num_queries(queries):
        response = alice.get(f"/clusters/lab{path}")
    assert response.status_code == 200
    assert shown in response.content.decode()
    assert "<html" in response.content.decode()


def test_the_number_of_queries_does_not_grow_with_the_rows(
    alice: Client, lab: Cluster, django_assert_max_num_queries: Any
) -> None:
    add_pods(lab, *(pod(f"more-{number}", cpu="100") for number in range(30)))
    for path, _, queries in PAGES:
        with django_assert_max_num_queries(queries):
            alice.get(f"/clusters/lab{path}")


def test_the_clusters_page_takes_as_many_statements_for_all_cards_as_for_one(
    alice: Client, lab: Cluster, empty: Cluster, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(8):
        page = alice.get("/").content.decode()
    assert page.index(">bare<") < page.index(">lab<")


@pytest.mark.parametrize(
    "path", ["", "/queue", "/nodes", "/pods", "/decisions", "/events", "/profiles", "/objects"]
)
def test_htmx_gets_only_the_region(alice: Client, lab: Cluster, path: str) -> None:
    response = alice.get(f"/clusters/lab{path}", headers={"HX-Request": "true"})
    text = response.content.decode()
    assert response.status_code == 200
    assert "<html" not in text and text.lstrip().startswith(("<div", "<section"))
    assert "HX-Request" in response.headers["Vary"]


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("", "no pod can be scheduled"),
        ("/queue", "Add a pod"),
        ("/queue/history", "Add a pod"),
        ("/nodes", "Add a node"),
        ("/pods", "No pods yet"),
        ("/decisions", "No decisions yet"),
        ("/events", "No events yet"),
        ("/objects/persistentvolumeclaims", "Create one from an example"),
    ],
)
def test_an_empty_page_says_what_to_do_next(
    alice: Client, empty: Cluster, path: str, hint: str
) -> None:
    assert hint in alice.get(f"/clusters/bare{path}").content.decode()


def test_without_clusters_the_page_links_to_a_new_cluster(alice: Client) -> None:
    assert reverse("new-cluster") in alice.get("/").content.decode()


@pytest.mark.parametrize(
    "path",
    [
        "/clusters/nowhere",
        "/clusters/lab/nodes/nothing",
        "/clusters/lab/decisions/999999",
        "/clusters/lab/profiles/77",
        "/clusters/lab/objects/nothings",
        "/clusters/lab/objects/services/default/nothing",
        "/nonsense",
    ],
)
def test_an_unknown_object_is_a_404_page(alice: Client, lab: Cluster, path: str) -> None:
    response = alice.get(path)
    assert response.status_code == 404
    text = response.content.decode()
    assert "All clusters" in text
    assert ('href="/clusters/lab/queue"' in text) == path.startswith("/clusters/lab/")


def test_the_page_of_a_deleted_pod_links_to_its_decisions(alice: Client, lab: Cluster) -> None:
    response = alice.get("/clusters/lab/pods/default/gone-1")
    assert response.status_code == 404
    assert "/clusters/lab/decisions?pod=default/gone-1" in response.content.decode()
    assert "web-1" in alice.get("/clusters/lab/decisions?pod=default/web-1").content.decode()
    elsewhere = alice.get("/clusters/lab/pods/kube-system/web-1").content.decode()
    assert 'href="/clusters/lab/pods/default/web-1"' in elsewhere


def test_the_overhead_of_a_pod_is_told_apart_from_its_requests(alice: Client, lab: Cluster) -> None:
    sandbox = {"metadata": {"name": "kata"}, "handler": "kata"}
    store.create(
        lab,
        kinds.by_name("RuntimeClass"),
        {**sandbox, "overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}}},
        actor=ACTOR,
    )
    add_pods(lab, pod("boxed", runtimeClassName="kata"))
    facts = shown(alice, "/clusters/lab/pods/default/boxed")
    for name, cpu in (("Requests", "500m"), ("Overhead of kata", "250m"), ("Counted", "750m")):
        tags = facts.partition(f"<dt>{name}")[2].partition("</dd>")[0]
        assert f">cpu {cpu}<" in tags, (name, tags)
    assert "Overhead" not in shown(alice, "/clusters/lab/pods/default/web-1")


def test_a_live_page_has_its_stream_and_version(alice: Client, lab: Cluster) -> None:
    lab.refresh_from_db()
    page = alice.get("/clusters/lab/queue").content.decode()
    assert f'sse-connect="/clusters/lab/live?after={lab.resource_version}"' in page
    assert "sse:pods" in page


def test_pages_have_no_inline_scripts_and_none_of_other_sites(alice: Client, lab: Cluster) -> None:
    response = alice.get("/clusters/lab")
    assert response.headers["Content-Security-Policy"].startswith("default-src 'self'")
    # commands to copy have the address of this site
    page = response.content.decode().replace("http://testserver", "")
    assert "style=" not in page and "onclick" not in page and "://" not in page


def test_a_decision_shows_extender_calls_and_permit_waits(alice: Client, lab: Cluster) -> None:
    row = SchedulingDecision.objects.filter(cluster=lab, result="scheduled").latest("pk")
    record = read(row)
    decision = record.decision
    url = "https://licences.example/filter"
    call = ExtenderCall("licences", url, ExtenderVerb.FILTER, 4, 0, 2_000_000, "EOF", True)
    decision.extender_calls.append(call)
    decision.permit_wait = PermitWait({"Gatekeeper": 60.0}, 4.5, SUCCESS)
    LedgerWriter(lab.pk, profile_revision=1).insert([record])
    copy = SchedulingDecision.objects.latest("pk")
    page = alice.get(f"/clusters/lab/decisions/{copy.pk}").content.decode()
    assert url in page and "EOF" in page and "ignored" in page
    assert "4.5 s, by Gatekeeper" in page


def test_decisions_are_paged_by_their_numbers(lab: Cluster) -> None:
    newest_first = SchedulingDecision.objects.filter(cluster=lab)
    numbers = list(newest_first.order_by("-pk").values_list("pk", flat=True))
    assert len(numbers) == 4
    first = log_page(newest_first, {}, size=2)
    assert [row.pk for row in first.rows] == numbers[:2]
    assert (first.newer, first.older, first.total) == (None, numbers[1], 4)
    second = log_page(newest_first, {"before": str(first.older)}, size=2)
    assert [row.pk for row in second.rows] == numbers[2:]
    assert (second.newer, second.older) == (numbers[2], None)
    back = log_page(newest_first, {"after": str(second.newer)}, size=2)
    assert [row.pk for row in back.rows] == numbers[:2]
    assert back.newer is None


@pytest.mark.parametrize(
    ("page", "section"),
    [
        ("", "Overview"),
        ("/webhooks/1", "Overview"),
        ("/delete", "Overview"),
        ("/past", "Charts"),
        ("/queue/history", "Queue"),
        ("/pods/default/a", "Pods"),
        ("/new-pod", "Pods"),
        ("/delete/pods/default/a", "Pods"),
        ("/nodes/nodes/drain/landings", "Nodes"),
        ("/decisions/1/state", "Decisions"),
        ("/views/1/edit", "Decisions"),
        ("/replays/1", "Lab"),
        ("/changes/1", "Changes"),
        ("/previews/1", "Profiles"),
        ("/objects/deployments.apps/default/nodes", "Objects"),
        ("/edit/deployments.apps/default/a", "Objects"),
    ],
)
def test_the_navigation_shows_where_the_reader_is(page: str, section: str) -> None:
    groups = navigation.GROUPS
    assert navigation.find_section(f"/clusters/lab{page}", groups).label == section


def test_the_navigation_lists_the_pages_below_the_section_that_is_open(
    alice: Client, lab: Cluster
) -> None:
    page = alice.get("/clusters/lab/queue/history").content.decode()
    nav = page[page.index('class="sections"') : page.index("<main")]
    below = re.findall(r'class="below"\s+href="([^"]+)"\s+(aria-current="page")?', nav)
    assert below == [("/clusters/lab/queue/history", 'aria-current="page"')]
    assert 'class="section" href="/clusters/lab/queue"' in page, "the way back is in the path"
    assert "section" not in re.findall(
        r'class="([^"]+)"', alice.get("/clusters/lab/queue").content.decode()
    )
