"""Scenarios: start one, list those that were run, look at one, compare two runs."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from apps.administration.operations import scenarios as operations
from apps.cluster.errors import ApiError
from apps.dashboard.forms.scenario import ScenarioForm
from apps.dashboard.forms.yaml_problems import show_problem, show_syntax
from apps.dashboard.queries.scenarios import compare as compare_runs
from apps.dashboard.queries.scenarios import list_choices, list_runs, show_runs
from apps.dashboard.rendering import Request, actor, render_page, render_refusal
from apps.dashboard.streams import site_stamp
from apps.studies.scenarios.examples import list_examples
from apps.studies.scenarios.language.reading import ScenarioError


@require_http_methods(["GET", "POST"])
def scenarios(request: Request) -> HttpResponse:
    """The form, the library and the runs; a POST starts a scenario."""
    form = ScenarioForm(initial={"scenario": _first_text(request)})
    if request.method == "POST":
        form = ScenarioForm(request.POST, request.FILES)
        if form.is_valid() and (started := _start(request, form)) is not None:
            return started
    context: dict[str, Any] = {
        "form": form,
        "page": list_runs(request.GET.dict(), request.user),
        "examples": list_examples().values(),
        "stamp": site_stamp(request.user),
    }
    return render_page(request, "scenarios", context, status=422 if form.errors else 200)


@require_GET
def scenario(request: Request, number: int) -> HttpResponse:
    """One scenario: its progress, then its results."""
    stamp = site_stamp(request.user)
    try:
        operation = operations.get_scenario(number)
    except ApiError as refusal:
        return render_refusal(request, refusal)
    result = operations.result_of(operation)
    context: dict[str, Any] = {"operation": operation, "result": result, "stamp": stamp}
    if result is not None:
        context["runs"] = show_runs(operation, result)
    return render_page(request, "scenario", context)


@require_GET
def compare(request: Request) -> HttpResponse:
    """Two runs side by side; a choice of runs without their names."""
    choices = list_choices(request.user)
    if "first" not in request.GET:
        return render_page(request, "compare_scenarios", {"choices": choices})
    first, second = request.GET.get("first", ""), request.GET.get("second", "")
    try:
        comparison = compare_runs(first, second, request.user)
    except ApiError as refusal:
        return render_refusal(request, refusal)
    return render_page(request, "compare_scenarios", {"compared": comparison, "choices": choices})


def _first_text(request: Request) -> str:
    """The text of the example that the address names; the first one of the library without."""
    examples = list_examples()
    wanted = examples.get(request.GET.get("example", ""))
    return (wanted or next(iter(examples.values()))).text


def _start(request: Request, form: ScenarioForm) -> HttpResponse | None:
    """Start it; None, and the form has the errors, if it cannot be run."""
    text = form.cleaned_data["scenario"]
    try:
        started = operations.start(text, form.cleaned_data["recordings"], actor=actor(request))
    except ScenarioError as error:
        for problem in error.problems:
            if not problem.line:
                show_syntax(form, "scenario", problem.message)
                continue
            text = f"{problem.field}: {problem.message}" if problem.field else problem.message
            show_problem(form, "scenario", problem.line, text)
    except ApiError as refusal:
        form.add_error(None, refusal.message)
    else:
        return redirect("scenario", number=started.pk)
    return None
