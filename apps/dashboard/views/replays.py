"""Replays: the form with the list, and one replay with its report."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from apps.administration.operations import replays as service
from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster
from apps.dashboard.charts import Plot, PlotLine, write_plots
from apps.dashboard.forms.replay import ReplayForm
from apps.dashboard.paging import numbered_page
from apps.dashboard.rendering import Request, actor, cluster_page, render_page
from apps.scheduler.config import ConfigError
from apps.studies.replay.levels import SERIES
from apps.studies.replay.plots import PLOTS, can_draw
from apps.studies.replay.report import TABLES, ReplayReport

_FIGURES: Final = (
    ("attempts", "Attempts"),
    ("bound", "Pods bound in the span"),
    ("pending", "Pods pending at its end"),
    ("preempted", "Pods preempted"),
    ("waiting_p50", "Time until bound, median"),
    ("waiting_p99", "Time until bound, 99th percentile"),
)
_LISTED: Final = 50


@require_http_methods(["GET", "POST"])
@cluster_page
def replays(request: Request, cluster: Cluster) -> HttpResponse:
    """The form and the replays so far; POST starts one."""
    if request.method == "GET":
        return _show_form(request, cluster, ReplayForm(cluster, initial=request.GET.dict()))
    form = ReplayForm(cluster, request.POST, request.FILES)
    if form.is_valid():
        try:
            started = service.start_replay(cluster, form.build_request(), actor=actor(request))
        except ConfigError as error:
            gates = not form.cleaned_data["configuration"]
            for cause in error.causes:
                field = "feature_gates" if gates else "configuration"
                form.add_error(field, f"{cause.field}: {cause.message}")
        except ApiError as refusal:
            name, _, rest = refusal.message.partition(": ")
            known = name in form.fields
            form.add_error(name if known else None, rest if known else refusal.message)
        else:
            return redirect("replay", cluster=cluster.name, number=started.pk)
    return _show_form(request, cluster, form)


@require_GET
@cluster_page
def replay(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    """A replay: its progress, then its report."""
    operation, report = service.get_replay(cluster, number)
    context: dict[str, Any] = {"cluster": cluster, "operation": operation, "report": report}
    if report is not None:
        context |= {
            "figures": _list_figures(report),
            "page": numbered_page(report.differences, request.GET.dict()),
            "plots": _write_plots(report),
            "files": [*(f"{name}.csv" for name in TABLES), *(PLOTS if can_draw() else ())],
        }
    return render_page(request, "replay", context)


def _show_form(request: Request, cluster: Cluster, form: ReplayForm) -> HttpResponse:
    context = {"cluster": cluster, "form": form, "runs": service.replays_of(cluster)[:_LISTED]}
    return render_page(request, "replays", context, status=422 if form.errors else 200)


def _list_figures(report: ReplayReport) -> list[tuple[str, list[Any], bool]]:
    """Label, the value of each life, and whether they are seconds."""
    return [
        (
            label,
            [getattr(figures, name) for _, figures, _ in report.lives],
            name.startswith("waiting"),
        )
        for name, label in _FIGURES
    ]


def _write_plots(report: ReplayReport) -> str:
    """Each level over time, with a line of each life."""
    plots = [
        Plot(
            name.replace(".", "-"),
            label,
            "pods" if name.startswith("pods.") else "share",
            [PlotLine(life, series[name]) for life, _, series in report.lives],
        )
        for name, label in SERIES
    ]
    return write_plots([at.timestamp() for at in report.times], plots, elapsed=False)
