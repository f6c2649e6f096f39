"""The lab: a question, and its answer below."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.administration.operations import lab_questions
from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster
from apps.dashboard.alike import group_alike
from apps.dashboard.forms import lab as forms
from apps.dashboard.forms.facts import FactsForm
from apps.dashboard.forms.lab import LabForm
from apps.dashboard.forms.yaml_problems import show_in_yaml, show_problem
from apps.dashboard.queries.facts import facts_page
from apps.dashboard.rendering import Request, actor, cluster_page, render_page
from apps.engine import queries
from apps.engine.results.refusals import group_refusals
from apps.engine.results.scores import score_matrix
from apps.scheduler.config import ConfigError
from apps.studies.explanations.prospects import list_prospects
from apps.studies.explanations.states import states
from apps.studies.lab.base import Base
from apps.studies.lab.counterfactuals import Question, ask
from apps.studies.lab.emptying import find_emptiable_nodes
from apps.studies.lab.failures import simulate_failures
from apps.studies.lab.fitting import count_fitting
from apps.studies.lab.planning import plan_nodes
from apps.studies.lab.run import SimulatedPod
from apps.studies.lab.simulation import Simulation, simulate

#: A longer address is not offered as a link.
_LONGEST_LINK: Final = 4000
#: Rows of a table at most; nodes of an explanation.
_MAX_ROWS: Final = 500
_FIRST_SCORES: Final = 5


@require_http_methods(["GET", "POST"])
@cluster_page
def lab(request: Request, cluster: Cluster) -> HttpResponse:
    """The form; with `ask`, also the answer. Nothing is written."""
    query = request.POST if request.method == "POST" else request.GET
    if "ask" not in query:
        # while the form is filled in
        states.prepare_now(cluster)
        return render_page(request, "lab", {"cluster": cluster, "form": LabForm(cluster)})
    form = LabForm(cluster, query, request.FILES if request.method == "POST" else None)
    context: dict[str, Any] = {"cluster": cluster, "form": form, "max_rows": _MAX_ROWS}
    if form.is_valid():
        try:
            context |= _answer(request, cluster, form)
        except ConfigError as error:
            field = "configuration" if form.cleaned_data["configuration"] else None
            for cause in error.causes:
                form.add_error(field, f"{cause.field}: {cause.message}")
        except ApiError as refusal:
            _show(form, refusal)
        else:
            context["link"] = _build_link(cluster, query, context["base"])
    return render_page(request, "lab", context, status=422 if form.errors else 200)


@require_POST
@cluster_page
def start_question(request: Request, cluster: Cluster) -> HttpResponse:
    """Ask about each node alone in an operation."""
    form = LabForm(cluster, request.POST, request.FILES)
    if form.is_valid():
        try:
            started = lab_questions.start_question(
                cluster,
                form.cleaned_data["ask"],
                form.build_request(),
                nodes=form.cleaned_data["nodes"],
                actor=actor(request),
            )
        except ApiError as refusal:
            _show(form, refusal)
        else:
            return redirect("lab-question", cluster=cluster.name, number=started.pk)
    context = {"cluster": cluster, "form": form, "max_rows": _MAX_ROWS}
    return render_page(request, "lab", context, status=422)


@require_GET
@cluster_page
def question(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    """The progress of a question that an operation answers, then the answer."""
    operation, answer = lab_questions.get_question(cluster, number)
    context = {"cluster": cluster, "operation": operation, "answer": answer}
    return render_page(request, "lab_question", context)


@require_GET
@cluster_page
def prospects(request: Request, cluster: Cluster) -> HttpResponse:
    """Whether the pending pods can ever run; the list of pods shows it."""
    pending = list_prospects(cluster)
    groups = group_alike(pending.pods, lambda pod: (pod.prospect, pod.sentence, pod.wait))
    context = {"cluster": cluster, "prospects": pending, "groups": groups}
    return render_page(request, "prospects", context)


@require_http_methods(["GET", "POST"])
@cluster_page
def decision_facts(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    """What a decision depended on; for a posted form, what it would have been with other facts.

    The state is rebuilt and searched in a request of its own, for htmx or with `search`.
    """
    node = request.GET.get("node", "").strip()
    if request.method == "GET" and not (request.htmx or "search" in request.GET):
        row = queries.decision_numbered(number, cluster)
        return render_page(request, "facts", {"cluster": cluster, "row": row, "node": node})
    page = facts_page(cluster, number, node, with_facts=request.method == "GET")
    form = FactsForm(page.initial)
    context: dict[str, Any] = {"cluster": cluster, "page": page, "row": page.row, "node": node}
    if request.method == "POST":
        form = FactsForm(page.initial, request.POST, request.FILES)
        if form.is_valid():
            question = Question(weights={}, edits=form.build_edits())
            try:
                context["answer"] = ask(page.row, page.record, question)
            except ApiError as refusal:
                form.add_refusal(refusal)
    context["form"] = form
    return render_page(request, "facts", context, status=422 if form.errors else 200)


def _answer(request: Request, cluster: Cluster, form: LabForm) -> dict[str, Any]:
    """The context of the answer; raises ApiError or ConfigError."""
    typed, wanted = form.cleaned_data, form.build_request()
    user = request.user.get_username()
    ask: str = typed["ask"]
    if ask == forms.SIMULATE:
        return _answer_simulation(simulate(cluster, wanted, user=user))
    answer: Any
    if ask == forms.FIT:
        answer = count_fitting(cluster, wanted, user=user)
    elif ask == forms.NODES:
        answer = plan_nodes(cluster, wanted, typed["shapes"], user=user)
    elif ask == forms.EMPTIABLE:
        answer = find_emptiable_nodes(cluster, wanted, nodes=typed["nodes"], user=user)
    else:
        answer = simulate_failures(cluster, wanted, typed["nodes"], user=user)
    return {"ask": ask, "answer": answer, "base": answer.base}


@dataclass(frozen=True, slots=True)
class LabRow:
    """A pod of a simulation, with the explanation of its last attempt if there is one."""

    pod: SimulatedPod
    sentence: str
    refusals: Sequence[Any] = ()
    plugins: Sequence[str] = ()
    #: (node, total, scores) of the first nodes
    scores: Sequence[Any] = ()

    @property
    def namespace(self) -> str:
        return self.pod.namespace

    @property
    def name(self) -> str:
        return self.pod.name

    @property
    def node(self) -> str:
        return self.pod.node


def _answer_simulation(simulation: Simulation) -> dict[str, Any]:
    return {
        "ask": forms.SIMULATE,
        "answer": simulation,
        "base": simulation.base,
        # only the first pods of a run have an explanation, all have a message
        "not_placed": group_alike(
            map(_explain, simulation.not_placed[:_MAX_ROWS]),
            lambda row: (row.pod.origin, row.pod.message, row.pod.nominated_node),
        ),
        "placed": group_alike(
            map(_explain, simulation.placed[:_MAX_ROWS]), lambda row: row.pod.origin
        ),
    }


def _explain(pod: SimulatedPod) -> LabRow:
    if pod.decision is None:
        return LabRow(pod, pod.sentence)
    matrix = score_matrix(pod.decision)
    scores = [
        (matrix.nodes[place], int(matrix.total[place]), matrix.scores_at(place))
        for place in range(min(_FIRST_SCORES, len(matrix.nodes)))
    ]
    plugins = [plugin.name for plugin in matrix.plugins]
    return LabRow(pod, pod.sentence, group_refusals(pod.decision), plugins, scores)


def _build_link(cluster: Cluster, query: QueryDict, base: Base) -> str:
    """The address that answers the same again, from the same version; "" if it is too long."""
    fields = {
        name: value
        for name, value in query.items()
        if value and name in LabForm.base_fields and name not in ("at", "version")
    }
    if "decision" not in fields:
        fields["version"] = str(base.version)
    address = f"{reverse('lab', args=[cluster.name])}?{urlencode(fields)}"
    return address if len(address) <= _LONGEST_LINK else ""


def _show(form: LabForm, refusal: ApiError) -> None:
    """Add an error at the field that it names."""
    field, _, rest = refusal.message.partition(":")
    name = field.partition("[")[0].strip()
    if name == "objects":
        show_problem(form, "objects", None, rest.strip())
    elif refusal.message.startswith("document") or "YAML" in refusal.message:
        show_in_yaml(form, "objects", refusal)
    elif name in form.fields:
        entry = re.search(r"\[(\d+)\]", field)
        place = f"entry {int(entry[1]) + 1}: " if entry else ""
        form.add_error(name, f"{place}{rest.strip()}")
    else:
        form.add_error(None, refusal.message)
