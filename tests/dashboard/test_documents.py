"""The documentation as pages, the pages of plugins, and their figures in a decision."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from apps.cluster.models import Cluster
from apps.dashboard import documents
from apps.engine.models import SchedulingDecision
from apps.engine.profiles.plugins import find_plugins, known_plugins
from tests.dashboard.conftest import shown

pytestmark = pytest.mark.django_db


def test_every_document_is_a_page_and_its_links_lead_to_pages(alice: Client) -> None:
    seen: dict[str, int] = {}
    for document in documents.list_documents():
        page = alice.get(document.address)
        assert page.status_code == 200, document.name
        text = page.content.decode()
        assert "&lt;!--" not in re.sub(r"<pre.*?</pre>", "", text, flags=re.S), document.name
        assert "<h1>" in text.replace("\n", "") and "](" not in re.sub(r"<pre.*?</pre>", "", text)
        for link in re.findall(r'(?:href|src)="(/(?:docs|plugins)[^"#]*)', text):
            if link not in seen:
                seen[link] = alice.get(link).status_code
    assert {link: code for link, code in seen.items() if code != 200} == {}
    assert len(seen) > 30


def test_documents_and_plugins_are_found_by_name(alice: Client) -> None:
    assert "The scheduling queue" in shown(alice, "/docs?q=queue")
    assert "Operating a site" not in shown(alice, "/docs?q=queue")
    listed = shown(alice, "/docs").partition('id="documents"')[2]
    headings = re.findall(r"<h2>(.*?)</h2>", listed)
    assert headings[:4] == ["Guides", "APIs", "Plugins", "Architecture decisions"]
    page = shown(alice, "/plugins?q=taint")
    assert "TaintToleration" in page and "ImageLocality" not in page
    assert "TaintToleration" in shown(alice, "/search?q=tainttol")
    for missing in ("/docs/nothing", "/docs/files/walk.md", "/docs/files/../manage.py"):
        assert alice.get(missing).status_code == 404
    assert alice.get("/plugins/NoPlugin").status_code == 404


def test_every_plugin_has_a_page(alice: Client) -> None:
    for name, plugin in known_plugins().items():
        page = shown(alice, f"/plugins/{name}")
        assert ", ".join(sorted(plugin.extension_points)[:1]) in page, name
    assert "share = (capacity - used) * 100" in shown(alice, "/plugins/NodeResourcesFit")
    # a link to another plugin's document leads to that plugin's page
    assert 'href="/plugins/DefaultPreemption"' in shown(alice, "/docs/plugins/README")


def test_the_list_of_plugins_says_what_each_does_and_its_weight(alice: Client) -> None:
    rows = re.findall(r"<tr>(.*?)</tr>", alice.get("/plugins").content.decode(), re.S)
    cells = [re.sub(r"(<[^>]+>|\s)+", " ", row).strip() for row in rows]
    assert "NodeName spec.nodeName filter – in-tree" in cells
    assert "NodeUnschedulable Cordoned nodes filter – in-tree" in cells
    assert "CinderLimits Disks a node can attach (until 1.30) filter – legacy" in cells
    assert any(
        cell.startswith("VolumeBinding Volumes that") and cell.endswith(" 1 in-tree")
        for cell in cells
    )


def test_the_page_of_a_plugin_from_outside_has_its_docstring_and_defaults(
    alice: Client, settings: Any
) -> None:
    settings.SCHEDWEB_PLUGINS = ("tests.example_plugins:Licences",)
    find_plugins.cache_clear()
    try:
        page = shown(alice, "/plugins/Licences")
    finally:
        find_plugins.cache_clear()
    assert "Pods that need a licence run where there is one" in page
    assert "Default of label" in page and "&quot;example.com/licences&quot;" in page


def test_a_plugins_page_has_the_figures_of_the_decision(alice: Client, lab: Cluster) -> None:
    row = SchedulingDecision.objects.filter(cluster=lab, result="scheduled").latest("pk")
    scores = alice.get(f"/api/v1/decisions/{row.pk}").json()["scores"]
    fit = next(each for each in scores["plugins"] if each["plugin"] == "NodeResourcesFit")
    page = shown(alice, f"/clusters/lab/decisions/{row.pk}/plugins/NodeResourcesFit")
    assert f"from NodeResourcesFit: raw score {fit['raw'][0]}." in page
    # the inputs lead to the recorded score
    assert re.search(rf"LeastAllocated: \(\d+ × 1 \+ \d+ × 1\) / 2 = .*{fit['raw'][0]}<", page)
    balance = f"/clusters/lab/decisions/{row.pk}/plugins/NodeResourcesBalancedAllocation"
    column = next(e for e in scores["plugins"] if e["plugin"].endswith("BalancedAllocation"))
    assert re.search(rf"/ 2 = .*{column['raw'][0]}<", shown(alice, balance))
    assert "the raw score of every node is 0: each has 100" in shown(
        alice, f"/clusters/lab/decisions/{row.pk}/plugins/TaintToleration?node=node-1"
    )
    refused = SchedulingDecision.objects.get(cluster=lab, name="huge")
    page = shown(alice, f"/clusters/lab/decisions/{refused.pk}/plugins/TaintToleration")
    assert "does not tolerate the taint dedicated=gpu:NoSchedule" in page
    page = shown(alice, f"/clusters/lab/decisions/{refused.pk}/plugins/VolumeZone")
    assert "skipped: the plugin had nothing to do" in page


def test_pages_of_decisions_and_pods_link_to_plugins(alice: Client, lab: Cluster) -> None:
    row = SchedulingDecision.objects.filter(cluster=lab, result="scheduled").latest("pk")
    link = f'href="/clusters/lab/decisions/{row.pk}/plugins/NodeResourcesFit'
    assert link in shown(alice, f"/clusters/lab/decisions/{row.pk}")
    assert link in shown(alice, f"/clusters/lab/decisions/{row.pk}/explanation")
    for page in ("pods", "pods/default/huge", "queue", "profiles/1", "decisions?group=plugin"):
        assert 'href="/plugins/NodeResourcesFit"' in shown(alice, f"/clusters/lab/{page}"), page
