"""Cards of decisions: what they say, as page, picture and Markdown."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from django.test import Client

from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writing import store
from apps.engine.models import SchedulingDecision
from tests.dashboard.conftest import ACTOR

pytestmark = pytest.mark.django_db


def _number(name: str) -> int:
    return SchedulingDecision.objects.filter(name=name).latest("pk").pk


def test_the_card_of_a_pending_pod_has_three_sentences_a_remedy_the_funnel_and_a_link(
    alice: Client, lab: Cluster
) -> None:
    number = _number("huge")
    text = alice.get(f"/clusters/lab/decisions/{number}/card.md").content.decode()
    title, answer, funnel, outlook, *rest = text.split("\n\n")
    assert title == "### Why is there no node for default/huge?"
    assert "cpu" in answer and answer.endswith(".")
    assert re.match(r"Of \d+ nodes, 0 were feasible; rejected by .*NodeResourcesFit \d", funnel)
    assert outlook == "Never. It would not fit on an empty cluster."
    assert rest[-1].strip().endswith(f"](http://testserver/clusters/lab/decisions/{number})")
    rows = re.findall(r"^\| (−?)([\d,]+) \| (.*) \|$", rest[-2], re.MULTILINE)
    assert rows[0][2] == "nodes in the cluster" and rows[-1][1:] == ("0", "selected")
    rejected = sum(int(nodes) for minus, nodes, _ in rows if minus)
    assert rejected == int(rows[0][1]), "what is rejected adds up to all nodes"


def test_the_picture_has_what_the_text_says_and_nothing_beyond_its_edge(
    alice: Client, lab: Cluster
) -> None:
    number = _number("web-1")
    answer = alice.get(f"/clusters/lab/decisions/{number}/card.svg")
    assert answer.headers["Content-Type"] == "image/svg+xml"
    picture = ElementTree.fromstring(answer.content)
    said = " ".join(text.text or "" for text in picture.iter("{http://www.w3.org/2000/svg}text"))
    row = SchedulingDecision.objects.get(pk=number)
    assert f"Why {row.node} for default/web-1?" in said
    assert f"/clusters/lab/decisions/{number}" in said
    height, width = int(picture.attrib["height"]), int(picture.attrib["width"])
    for bar in picture.iter("{http://www.w3.org/2000/svg}rect"):
        if "x" in bar.attrib:
            assert float(bar.attrib["x"]) + float(bar.attrib["width"]) <= width
            assert float(bar.attrib["y"]) < height


def test_a_remedy_is_on_the_card_only_while_the_pod_waits_since_this_attempt(
    alice: Client, lab: Cluster
) -> None:
    number = _number("huge")
    address = f"/clusters/lab/decisions/{number}/card.md"
    assert "**What would unblock it**\n\n- " in alice.get(address).content.decode()
    store.delete(lab, kinds.POD, "default", "huge", actor=ACTOR)
    later = alice.get(address).content.decode()
    assert "What would unblock it" not in later
    assert "None of 4 nodes fits, most of them because of NodeResourcesFit" in later


def test_pages_of_pods_and_decisions_lead_to_the_card(alice: Client, lab: Cluster) -> None:
    address = f"/clusters/lab/decisions/{_number('huge')}/card"
    for page in ("pods/default/huge", f"decisions/{_number('huge')}"):
        assert f'href="{address}"' in alice.get(f"/clusters/lab/{page}").content.decode()
    assert alice.get("/clusters/lab/decisions/7/card").status_code == 404
