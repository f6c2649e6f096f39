"""Filter, sorting and paging of tables, stored in the address."""

from __future__ import annotations

import html
from typing import Any

import pytest
from django.template import Context, Template
from django.test import Client

from apps.cluster.models import Cluster
from apps.dashboard.paging import numbered_page
from apps.dashboard.tables import Field, read_sorting
from tests.dashboard.conftest import shown

KEYS = {"name": "name", "age": "created_at"}


@pytest.mark.parametrize(
    ("asked", "parameter"),
    [("", "-age"), ("name", "name"), ("-name", "-name"), ("age", "age"), ("shoe-size", "-age")],
)
def test_a_table_is_sorted_as_the_address_says_if_it_is_valid(asked: str, parameter: str) -> None:
    assert read_sorting({"sort": asked}, KEYS, default="-age").parameter == parameter


@pytest.mark.parametrize(("asked", "size"), [("25", 25), ("7", 50), ("-1", 50), ("many", 50)])
def test_a_page_has_a_size_from_the_address_or_the_default(asked: str, size: int) -> None:
    page = numbered_page(range(1000), {"size": asked, "page": "2"})
    assert (page.size, len(page.rows), page.first) == (size, size, size + 1)


def test_a_page_keeps_its_numbers_with_other_rows() -> None:
    page = numbered_page(range(60), {"page": "2"}).showing(["a"])
    assert (page.rows, page.first, page.last, page.pages) == (["a"], 51, 60, 2)


def test_the_first_choice_is_empty() -> None:
    field = Field("zone", "Zone", choices=["a", ("b", "the b")], nothing="any")
    assert field.options == [("", "any"), ("a", "a"), ("b", "the b")]


def render(text: str, **context: object) -> str:
    return Template("{% load tables %}" + text).render(Context(context))


def test_a_table_scrolls_and_has_its_name_as_a_caption() -> None:
    text = (
        '{% table "Pods of " node css="log" columns="pods" focusable=True %}<tbody>{% endtable %}'
    )
    assert render(text, node="<a>") == (
        '<div class="scroll" tabindex="0" role="region" aria-label="Pods of &lt;a&gt;">'
        '<table class="data log" data-columns="pods">'
        '<caption class="visually-hidden">Pods of &lt;a&gt;</caption><tbody></table></div>'
    )


def test_a_live_region_is_read_again_after_its_events() -> None:
    assert 'hx-trigger="sse:nodes delay:60ms, sse:pods delay:60ms"' in render(
        "<p {% live kind 'pods' %}>", kind="nodes"
    )


@pytest.mark.django_db
def test_the_filter_keeps_the_sorting_and_starts_at_the_first_page(
    alice: Client, lab: Cluster
) -> None:
    page = shown(alice, "/clusters/lab/nodes?q=node&sort=-cpu&page=9")
    assert '<input type="hidden" name="sort" value="-cpu">' in page
    assert 'name="page"' not in page
    assert 'value="node"' in page
    assert 'aria-sort="descending"><a href="?q=node&amp;sort=cpu"' in page


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path",
    [
        "pods",
        "nodes",
        "queue",
        "decisions",
        "events",
        "changes",
        "queue/history",
        "objects/configmaps",
    ],
)
def test_a_list_refuses_a_parameter_that_it_does_not_have(
    alice: Client, lab: Cluster, path: str
) -> None:
    refused = alice.get(f"/clusters/lab/{path}?sort=name&reslut=failed")
    page = html.unescape(refused.content.decode())
    assert refused.status_code in (400, 422)
    assert "nknown parameter 'reslut'; this list has " in page
    assert '<a href="/clusters/lab/queue"' in " ".join(page.split())


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/operations", "/audit", "/docs", "/plugins"])
def test_a_list_of_the_site_refuses_a_parameter_that_it_does_not_have(
    alice: Client, django_user_model: Any, path: str
) -> None:
    django_user_model.objects.update(is_staff=True, is_superuser=True)
    refused = alice.get(f"{path}?sta=failed")
    assert refused.status_code in (400, 422)
    assert "nknown parameter 'sta'; this list has " in html.unescape(refused.content.decode())
