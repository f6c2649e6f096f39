"""The documentation, the plugins, and a plugin's figures in a decision."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from apps.cluster.models import Cluster
from apps.dashboard import documents as docs
from apps.dashboard.queries.decisions import ledger_entry
from apps.dashboard.queries.plugins import plugin_figures, plugin_list, plugin_summary
from apps.dashboard.rendering import Request, recorded_page, render_page, site_page
from apps.dashboard.tables import Field, refuse_unknown

_SEARCH = Field("q", "Name", hint="contains")


@require_GET
@site_page
def documents(request: Request) -> HttpResponse:
    """Every document, by folder; `?q=`: those whose name or title contains it."""
    refuse_unknown(request.GET, [_SEARCH])
    text = request.GET.get("q", "").strip().lower()
    matches = [d for d in docs.list_documents() if text in f"{d.name} {d.title}".lower()]
    return render_page(request, "documents", {"documents": matches, "fields": [_SEARCH]})


@require_GET
@site_page
def document(request: Request, document: str) -> HttpResponse:
    name = document.removesuffix(".md").rstrip("/")
    context = {"name": name, "document": docs.render_document(name)}
    return render_page(request, "document", context)


@require_GET
@site_page
def document_file(request: Request, document: str) -> HttpResponse:
    """A picture of a document."""
    path, kind = docs.find_file(document)
    return HttpResponse(path.read_bytes(), content_type=kind)


@require_GET
@site_page
def plugins(request: Request) -> HttpResponse:
    """Every plugin; `?q=`: those whose name or summary contains it."""
    refuse_unknown(request.GET, [_SEARCH])
    context = {
        "plugins": plugin_list(request.GET.get("q", "")),
        "fields": [_SEARCH],
    }
    return render_page(request, "plugins", context)


@require_GET
@site_page
def plugin(request: Request, plugin: str) -> HttpResponse:
    summary = plugin_summary(plugin)
    return render_page(request, "plugin", {"summary": summary, **_document(summary.document)})


@require_GET
@recorded_page
def decision_plugin(request: Request, cluster: Cluster, number: int, plugin: str) -> HttpResponse:
    """A plugin's page with its figures in a decision; `?node=`: those of this node, too."""
    summary = plugin_summary(plugin)
    entry = ledger_entry(cluster, number)
    node = request.GET.get("node", "").strip()
    context = {
        "cluster": cluster,
        "row": entry.row,
        "node": node,
        "figures": plugin_figures(entry.row, entry.decision, plugin, node),
        "summary": summary,
        **_document(summary.document),
    }
    return render_page(request, "decision_plugin", context)


def _document(name: str) -> dict[str, Any]:
    return {"document": docs.render_document(name) if name else None}
