"""Attempts across an activation, pods of unknown schedulers, a lost connection and session."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Cluster
from apps.engine.loop.engines import Engines
from apps.engine.profiles import revisions
from tests.browser.conftest import Seen
from tests.dashboard.conftest import add_pods, pod

pytestmark = pytest.mark.browser

OTHER_PROFILE = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: batch
"""


@pytest.fixture
def lab(seen: Seen) -> Cluster:
    """A pod that fits nowhere has had an attempt."""
    lab = create_cluster("lab", user="admin", nodes=2, tie_break="first-name")
    add_pods(lab, pod("huge", cpu="100"))
    Engines().run(lab.pk)
    return lab


def test_attempts_are_counted_on_and_pods_of_unknown_schedulers_are_named(
    seen: Seen, lab: Cluster
) -> None:
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab/queue")
    expect(seen.page.get_by_role("link", name="huge")).to_be_visible()
    _activate_without_default_scheduler(seen)
    Engines().run(lab.pk)
    _see_stranded_pod(seen)
    text = revisions.BUILT_IN + "podMaxBackoffSeconds: 20\n"
    revisions.add_revision(lab, text, user="admin")
    Engines().run(lab.pk)
    _see_numbered_attempts(seen)
    _lose_connection_and_session(seen)


def _activate_without_default_scheduler(seen: Seen) -> None:
    page = seen.page
    seen.open("/clusters/lab/new-profile")
    page.get_by_label("Configuration", exact=True).fill(OTHER_PROFILE)
    stranded = "1 pending pod waits for scheduler default-scheduler, which no profile"
    expect(page.locator("#verdict")).to_contain_text(stranded)
    page.get_by_role("button", name="Save and activate").click()
    expect(page.get_by_role("alert").filter(has_text=stranded)).to_be_visible()
    page.get_by_role("button", name="Activate anyway").click()
    expect(page.get_by_text("Revision 2 is now active.")).to_be_visible()
    expect(page.locator("#notices")).to_contain_text(stranded)


def _see_stranded_pod(seen: Seen) -> None:
    """The queue, the list and the page of the pod know it; the form offers the profiles."""
    page = seen.page
    seen.open("/clusters/lab/queue")
    queue = page.locator("#queue")
    expect(queue).to_contain_text("1 pending pod waits for a scheduler that no profile here has")
    expect(queue).not_to_contain_text("No pods are pending")
    queue.get_by_role("link", name="1 pending pod").click()
    expect(page.get_by_role("row", name="huge").first).to_contain_text("other schedulers")
    page.get_by_role("link", name="huge").first.click()
    waits = "It waits for scheduler default-scheduler, which no profile here has."
    expect(page.get_by_text(waits).first).to_be_visible()
    seen.open("/clusters/lab/new-pod")
    offered = page.get_by_label("Scheduler name").evaluate(
        "field => [...field.list.options].map(each => each.value)"
    )
    assert offered == ["batch"]


def _see_numbered_attempts(seen: Seen) -> None:
    """The story shows the activation, and the attempt after it is the second."""
    seen.open("/clusters/lab/pods/default/huge")
    expect(seen.page.get_by_role("link", name="attempt 2")).to_be_visible()
    story = seen.page.locator("ol.story").inner_text()
    order = [story.index(mark) for mark in ("attempt 1", "revision 3", "attempt 2")]
    assert order == sorted(order), story


def _lose_connection_and_session(seen: Seen) -> None:
    """A page without a connection says so; a form without a session leads to the login page."""
    page = seen.page
    seen.open("/clusters/lab/pods")
    page.context.set_offline(True)
    page.get_by_label("Name", exact=True).fill("hu")
    away = page.get_by_text("The site cannot be reached.")
    expect(away).to_be_visible()
    page.context.set_offline(False)
    page.get_by_label("Name", exact=True).fill("huge")
    expect(away).to_have_count(0)
    seen.open("/clusters/lab/new-pod")
    _sign_out(page)
    page.get_by_label("Name", exact=True).fill("late")
    page.get_by_role("button", name="Create pod").click()
    page.wait_for_url("**/login?next=/clusters/lab/new-pod")
    expect(page.get_by_text("nothing was changed")).to_be_visible()


def _sign_out(page: Page) -> None:
    """As when the session has expired."""
    page.context.clear_cookies(name="sessionid")
