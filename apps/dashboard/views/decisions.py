"""Decisions: the list, one of them, its scores as JSON, the nodes of one group of refusals."""

from __future__ import annotations

from typing import Any

import msgspec
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_GET

from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster
from apps.dashboard.decision_page import card as cards
from apps.dashboard.decision_page.funnel import funnel_steps
from apps.dashboard.decision_page.preemption import preemption_table
from apps.dashboard.decision_page.scores import score_table
from apps.dashboard.decision_page.waterfall import waterfall_stages
from apps.dashboard.decision_page.what_if import WhatIf, read_base_scores, what_if
from apps.dashboard.paging import numbered_page
from apps.dashboard.queries.decision_card import decision_card
from apps.dashboard.queries.decisions import decision_list, ledger_entry
from apps.dashboard.rendering import Request, recorded_page, render_page
from apps.engine import queries
from apps.engine.ledger import completion
from apps.engine.ledger.reading import read
from apps.engine.results.presenting import describe_tie
from apps.engine.results.refusals import group_refusals
from apps.engine.results.scores import VALUES

NODES_SHOWN = 500
#: A decision never changes: its scores are cached for a year.
_IMMUTABLE = "private, max-age=31536000, immutable"


@require_GET
@recorded_page
def decisions(request: Request, cluster: Cluster) -> HttpResponse:
    listed = decision_list(cluster, request.GET, request.user.get_username())
    context = {"cluster": cluster, "decisions": listed}
    return render_page(request, "decisions", context, status=422 if listed.problem else 200)


@require_GET
@recorded_page
def complete_filter(request: Request, cluster: Cluster) -> HttpResponse:
    """Values of a filter of decisions that complete the text of its field, as suggestions."""
    field = next((name for name in request.GET if name in completion.FIELDS), "")
    names = completion.complete(cluster, field, request.GET.get(field, ""))
    return render_page(request, "node_options", {"names": names})


@require_GET
@recorded_page
def decision(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    """One decision; an htmx request gets only its scores."""
    entry = ledger_entry(cluster, number)
    asked = what_if(entry.row, entry.record, request.GET)
    context = {
        "cluster": cluster,
        "entry": entry,
        "what_if": asked,
        **_scores(request, asked),
    }
    if not request.htmx:
        refusals = group_refusals(entry.decision)
        context |= {
            "funnel": funnel_steps(entry.decision, refusals),
            "refusals": refusals,
            "tied": entry.decision.tied_nodes(),
            "tie": describe_tie(entry.row.tied_nodes, cluster.tie_break),
            "preemption": preemption_table(entry.decision),
            "stages": waterfall_stages(entry.decision),
        }
    return render_page(request, "decision", context)


@require_GET
@recorded_page
def card(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    """One page about a decision, to show to others."""
    shown = decision_card(cluster, number, _permanent_link(request, cluster, number))
    context = {
        "cluster": cluster,
        "card": shown,
        "width": cards.WIDTH,
        "height": cards.draw(shown).height,
        "markdown": cards.to_markdown(shown),
    }
    return render_page(request, "card", context)


@require_GET
@recorded_page
def card_picture(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    shown = decision_card(cluster, number, _permanent_link(request, cluster, number))
    context = {
        "card": shown,
        "picture": cards.draw(shown),
        "width": cards.WIDTH,
        "bars": cards.BARS,
        "room": cards.WIDTH - cards.BARS - cards.MARGIN,
    }
    drawn = render_to_string("dashboard/card.svg", context)
    return HttpResponse(drawn, content_type="image/svg+xml")


@require_GET
@recorded_page
def card_text(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    shown = decision_card(cluster, number, _permanent_link(request, cluster, number))
    return HttpResponse(cards.to_markdown(shown), content_type="text/markdown; charset=utf-8")


def _permanent_link(request: Request, cluster: Cluster, number: int) -> str:
    return request.build_absolute_uri(reverse("decision", args=[cluster.name, number]))


@require_GET
@recorded_page
def scores(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    """The whole matrix of scores as the API has it, for the browser to sort and to weigh.

    `?without=`: the scores without these filter plugins.
    """
    row, without = queries.decision_numbered(number, cluster), request.GET.getlist("without")
    return HttpResponse(
        msgspec.json.encode(read_base_scores(row, read(row), without)),
        content_type="application/json",
        headers={"Cache-Control": "no-store" if without else _IMMUTABLE},
    )


@require_GET
@recorded_page
def refused_nodes(request: Request, cluster: Cluster, number: int, status: int) -> HttpResponse:
    """All nodes of one group of refusals; `status` is its `RefusalGroup.number`."""
    entry = ledger_entry(cluster, number)
    matching = [group for group in group_refusals(entry.decision) if group.number == status]
    if not matching:
        raise NotFound("refusals", str(status))
    context = {
        "cluster": cluster,
        "entry": entry,
        "refusal": matching[0],
        "page": numbered_page(matching[0].nodes, request.GET, size=NODES_SHOWN),
    }
    return render_page(request, "refused_nodes", context)


def _scores(request: Request, asked: WhatIf) -> dict[str, Any]:
    table = score_table(asked.matrix, request.GET.dict())
    return {"table": table, "sorting": table.sorting, "values": VALUES}
