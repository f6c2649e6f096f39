"""Recorded decisions: a form that compares a file with ours, and the report."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from apps.administration.operations import recorded_decisions as service
from apps.cluster.errors import ApiError
from apps.dashboard.forms.scenario import RecordedDecisionsForm
from apps.dashboard.paging import numbered_page
from apps.dashboard.rendering import Request, actor, render_page, render_refusal
from apps.dashboard.streams import site_stamp

_LISTED: Final = 50


@require_http_methods(["GET", "POST"])
def recorded_decisions(request: Request) -> HttpResponse:
    """The form and the comparisons so far; a POST starts one."""
    form = RecordedDecisionsForm()
    if request.method == "POST":
        form = RecordedDecisionsForm(request.POST, request.FILES)
        if form.is_valid():
            name, text = form.cleaned_data["recording"]
            configuration = form.cleaned_data["configuration"]
            try:
                started = service.start(text, name, configuration, actor=actor(request))
            except ApiError as refusal:
                wrong = refusal.message.startswith("the configuration")
                form.add_error("configuration" if wrong else "recording", refusal.message)
            else:
                return redirect("recorded-comparison", number=started.pk)
    context = {"form": form, "runs": service.comparisons_of(request.user)[:_LISTED]}
    return render_page(request, "recorded_decisions", context, status=422 if form.errors else 200)


@require_GET
def report(request: Request, number: int) -> HttpResponse:
    """One comparison: its progress, then its report."""
    stamp = site_stamp(request.user)
    try:
        operation, comparison = service.get_comparison(number)
    except ApiError as refusal:
        return render_refusal(request, refusal)
    context: dict[str, Any] = {"operation": operation, "report": comparison, "stamp": stamp}
    if comparison is not None:
        context["page"] = numbered_page(comparison["pods"], request.GET.dict())
    return render_page(request, "recorded_decisions_report", context)
