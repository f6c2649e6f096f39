"""The documentation of the REST API sends requests, with a session and with a token."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Cluster
from apps.people.tokens import create_token
from tests.browser.conftest import Seen, watch_page

pytestmark = pytest.mark.django_db(transaction=True)
PICTURES = os.environ.get("SCREENSHOTS", "")


def test_the_documentation_sends_requests_with_a_session_and_with_a_token(
    seen: Seen, chromium: Browser
) -> None:
    create_cluster("lab", user="admin", nodes=1000)
    seen.log_in("admin", "open sesame")
    page = seen.page
    seen.open("/docs")
    page.get_by_role("link", name="REST API").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    areas = page.locator(".opblock-tag h3, h3.opblock-tag")
    expect(areas.first).to_contain_text("Clusters", timeout=30_000)
    names = [text.split("\n")[0] for text in areas.all_inner_texts()]
    assert names.index("Queue") < names.index("Decisions") < names.index("Explanations")

    pause = open_operation(page, "clusters_pause_create", "Clusters")
    expect(pause).to_contain_text("A paused cluster has no scheduling and no controllers")
    execute(pause, name="lab")
    expect(pause.locator(".live-responses-table")).to_contain_text('"paused": true')
    assert Cluster.objects.get(name="lab").paused
    picture(page, "api-docs-1280-light.png")
    export = open_operation(page, "clusters_export_retrieve", "Objects")
    execute(export, name="lab")
    # a large response does not stop the browser
    expect(export.locator(".live-responses-table")).to_contain_text(
        "kind: Namespace", timeout=10_000
    )
    imported = open_operation(page, "clusters_import_create", "Objects")
    expect(imported.locator("textarea")).to_have_value(re.compile("kind: List"))
    execute(imported, name="lab")
    expect(imported.locator(".live-responses-table")).to_contain_text("Pod default/small")

    bob = create_token(User.objects.create_superuser("bob", password="the builder"), "test").key
    page.get_by_role("button", name="Authorize").first.click()
    dialog = page.locator(".modal-ux")
    dialog.get_by_label("auth-bearer-value").fill(bob)
    dialog.get_by_role("button", name="Apply credentials").first.click()
    dialog.get_by_role("button", name="Close").last.click()
    token = open_operation(page, "tokens_list", "Account")
    execute(token)
    expect(token.locator(".live-responses-table")).to_contain_text('"name": "test"')
    page.get_by_label("Pages").get_by_role("link", name="Clusters").click()
    expect(page.get_by_role("heading", name="Clusters", exact=True)).to_be_visible()
    assert not seen.problems

    look_on_a_phone_in_the_dark(seen, chromium)


def open_operation(page: Page, operation: str, area: str) -> Any:
    # the schema may take seconds to generate
    expect(page.locator(f'[data-tag="{area}"]')).to_be_visible(timeout=30_000)
    block = page.locator(f"#operations-{area}-{operation}")
    if not block.is_visible():
        page.locator(f'[data-tag="{area}"]').click()
    block.locator(".opblock-summary-control").click()
    return block


def execute(block: Any, **values: str) -> None:
    for name, value in values.items():
        block.locator(f'tr[data-param-name="{name}"] input').fill(value)
    block.get_by_role("button", name="Execute").click()


def look_on_a_phone_in_the_dark(seen: Seen, chromium: Browser) -> None:
    """The page follows the browser's scheme, and fits."""
    state = seen.page.context.storage_state()
    window = chromium.new_context(
        viewport={"width": 390, "height": 900}, color_scheme="dark", storage_state=state
    )
    phone = watch_page(window, seen.address)
    phone.open("/api/docs")
    open_operation(phone.page, "clusters_queue_retrieve", "Queue")
    background = phone.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(28, 32, 34)"
    picture(phone.page, "api-docs-390-dark.png")
    root = "document.documentElement"
    assert phone.page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")
    assert not phone.problems
    window.close()


def picture(page: Page, name: str) -> None:
    if PICTURES:
        Path(PICTURES).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(PICTURES) / name, full_page=True)
