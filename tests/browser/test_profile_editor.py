"""The profile editor: form and YAML, preview, saving, activating; clusters side by side."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from apps.administration.clusters.lifecycle import create_cluster
from apps.administration.operations import running
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.engine.loop.engines import Engines
from apps.engine.models import Operation
from apps.engine.profiles import revisions
from tests.browser.conftest import Seen

pytestmark = pytest.mark.browser
COMMENTED = revisions.BUILT_IN.replace("profiles:", "# all workloads\nprofiles:")


@pytest.fixture
def lab(seen: Seen) -> Cluster:
    lab = create_cluster("lab", user="admin", nodes=3, zones=3, tie_break="first-name")
    create_cluster("bare", user="admin", paused=True)
    revisions.add_revision(lab, COMMENTED, user="admin")
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}}
    bodies = [
        {
            "metadata": {"name": f"web-{number}"},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]},
        }
        for number in range(4)
    ]
    writes = [Create(kinds.POD, body, "default") for body in bodies]
    store.write(lab, writes, actor=Actor("admin"))
    Engines().run(lab.pk)
    return lab


def test_a_profile_is_edited_previewed_saved_and_activated(seen: Seen, lab: Cluster) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab/profiles")
    page.get_by_role("link", name="Edit the configuration").click()
    _change_the_form(page)
    _change_the_yaml(page)
    _undo_and_stay(page)
    _change_quickly(page)
    _preview(page)
    _save_and_activate(page)
    _compare_clusters(page)
    assert seen.problems == []


def _change_the_form(page: Page) -> None:
    """What is changed in the form appears in the YAML, comments remain, undoing removes it."""
    area, verdict = page.get_by_label("Configuration", exact=True), page.locator("#verdict")
    expect(verdict).to_contain_text("Valid. It changes nothing")
    page.get_by_label("podMaxBackoffSeconds").fill("20")
    page.get_by_label("podMaxBackoffSeconds").press("Enter")
    expect(area).to_have_value(f"{COMMENTED}podMaxBackoffSeconds: 20\n")
    expect(verdict).to_contain_text("podMaxBackoffSeconds: 10 20")
    page.get_by_label("podMaxBackoffSeconds").fill("")
    page.get_by_label("NodeResourcesBalancedAllocation at score").click()
    expect(verdict).to_contain_text("score: NodeResourcesBalancedAllocation: enabled disabled")
    expect(page.get_by_label("NodeResourcesBalancedAllocation at preScore")).to_be_checked()
    expect(area).not_to_have_value("podMaxBackoffSeconds")
    page.locator("summary", has_text="NodeResourcesFit").click()
    arguments = page.locator("details.arguments", has_text="NodeResourcesFit")
    arguments.get_by_label("type").select_option("MostAllocated")
    expect(verdict).to_contain_text("scoringStrategy.type: LeastAllocated MostAllocated")
    arguments.get_by_role("button", name="Add resource").click()
    expect(arguments.get_by_text("resource 3")).to_be_visible()
    expect(verdict).to_contain_text("resources[]")
    added = arguments.locator("fieldset.group", has_text="resource 3").last
    added.get_by_label("weight").fill("200")
    added.get_by_label("weight").press("Enter")
    expect(added.locator(".problem")).to_contain_text("not in valid range (0, 100]")
    expect(arguments.get_by_text("has an error")).to_be_visible()
    added.get_by_role("button", name="Remove").click()
    expect(arguments.get_by_text("has an error")).to_have_count(0)
    assert "# all workloads" in area.input_value()


def _change_the_yaml(page: Page) -> None:
    """What is typed in the YAML appears in the form; errors are at the line and at the field."""
    area = page.get_by_label("Configuration", exact=True)
    text = area.input_value()
    area.fill(text.replace("percentageOfNodesToScore: 100", "percentageOfNodesToScore: 300"))
    field = page.locator(".sheet .field", has_text="percentageOfNodesToScore").first
    expect(field.locator(".problem")).to_contain_text("not in valid range [0-100]")
    expect(field.locator("input")).to_have_value("300")
    expect(page.locator(".gutter .wrong")).to_have_text("▸ 3")
    page.locator("#verdict").get_by_role("button", name="Line 3").click()
    expect(area).to_be_focused()
    area.fill(text)
    expect(page.locator(".gutter .wrong")).to_have_count(0)
    expect(field.locator("input")).to_have_value("100")


def _undo_and_stay(page: Page) -> None:
    """Changes in the YAML and in the form are undone one by one; leaving asks first."""
    area, verdict = page.get_by_label("Configuration", exact=True), page.locator("#verdict")
    backoff, text = page.get_by_label("podInitialBackoffSeconds"), area.input_value()
    area.fill(f"{text}parallelism: 7\n")
    expect(verdict).to_contain_text("parallelism: 16 7")
    backoff.fill("3")
    backoff.press("Enter")
    expect(verdict).to_contain_text("podInitialBackoffSeconds: 1 3")
    page.get_by_role("button", name="Undo").click()
    expect(area).to_have_value(f"{text}parallelism: 7\n")
    expect(backoff).to_have_value("")
    area.press("Control+z")
    expect(area).to_have_value(text)
    page.get_by_role("button", name="Redo").click()
    expect(verdict).to_contain_text("parallelism: 16 7")
    page.get_by_role("button", name="Undo").click()
    expect(verdict).not_to_contain_text("parallelism: 16 7")
    with page.expect_event("dialog") as asked:
        page.once("dialog", lambda dialog: dialog.dismiss())
        page.get_by_role("link", name="Cancel").click(no_wait_after=True)
    assert asked.value.type == "beforeunload"
    expect(area).to_have_value(text)


def _change_quickly(page: Page) -> None:
    """Changes that are faster than the responses all arrive."""
    area, verdict = page.get_by_label("Configuration", exact=True), page.locator("#verdict")
    text = area.input_value()
    page.get_by_label("podMaxBackoffSeconds").fill("20")
    page.get_by_label("podInitialBackoffSeconds").fill("2")
    page.get_by_label("Weight of TaintToleration in default-scheduler").fill("30")
    page.get_by_label("NodeAffinity at score").click()
    page.get_by_label("ImageLocality at score").click()
    expect(verdict).to_contain_text("score: ImageLocality: enabled disabled")
    expect(verdict).to_contain_text("score: NodeAffinity: enabled disabled")
    expect(verdict).to_contain_text("weight of TaintToleration: 3 30")
    expect(verdict).to_contain_text("podInitialBackoffSeconds: 1 2")
    expect(verdict).to_contain_text("podMaxBackoffSeconds: 10 20")
    area.fill(text)
    expect(verdict).not_to_contain_text("podMaxBackoffSeconds")


def _preview(page: Page) -> None:
    page.get_by_role("button", name="Preview").click()
    preview = page.locator("#preview")
    expect(preview).to_contain_text("waiting for a worker")
    running.run(Operation.objects.latest("pk").pk)
    expect(preview).to_contain_text("of 4 decisions differ")
    row = preview.get_by_role("row", name="web-1")
    expect(row).to_contain_text("other node")
    expect(row.get_by_role("link", name="attempt 1")).to_be_visible()
    expect(row.get_by_role("link", name="node-0")).to_be_visible()


def _save_and_activate(page: Page) -> None:
    page.get_by_label("Name", exact=False).last.fill("dense")
    page.get_by_label("Note").fill("pack")
    page.get_by_role("button", name="Save as revision").click()
    expect(page.get_by_text("Revision 3 saved. It is not active.")).to_be_visible()
    page.get_by_role("link", name="What changed").click()
    expect(page.locator("#effects")).to_contain_text("MostAllocated")
    page.get_by_role("link", name="unified").click()
    expect(page.locator("#text table.unified")).to_be_visible()
    page.get_by_label("Pages of the cluster").get_by_role("link", name="Profiles").click()
    page.get_by_role("link", name="Activate revision 3").click()
    expect(page.locator("form.panel")).to_contain_text("MostAllocated")
    page.get_by_role("button", name="Activate").click()
    expect(page.get_by_text("Revision 3 is now active.")).to_be_visible()


def _compare_clusters(page: Page) -> None:
    page.get_by_role("link", name="schedweb").click()
    for name in ("lab", "bare"):
        page.get_by_label(f"Select {name} for the comparison").check()
    page.get_by_role("button", name="Compare selected").click()
    row = page.get_by_role("row", name="arguments of NodeResourcesFit: scoringStrategy.type")
    expect(row).to_contain_text("LeastAllocated")
    expect(row).to_contain_text("differs")
    page.get_by_label("Rows").select_option("differences")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("row", name="nodes not ready")).to_have_count(0)
    assert page.url.count("cluster=") >= 2
