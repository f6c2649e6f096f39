"""The profile editor: a form and YAML side by side, drafts, previews."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.administration.operations import previewing
from apps.cluster.errors import BadRequest, Invalid
from apps.cluster.models import Cluster
from apps.dashboard.forms.manifest import dump_yaml
from apps.dashboard.forms.profile import ProfileForm, describe_stranded_pods
from apps.dashboard.forms.yaml_problems import list_problems
from apps.dashboard.paging import numbered_page, parse_whole_number
from apps.dashboard.profile_form.applying import apply_changes
from apps.dashboard.profile_form.sheet import build_sheet
from apps.dashboard.queries.profiles import check_text
from apps.dashboard.recipes.actions import profile_recipe
from apps.dashboard.rendering import Request, actor, cluster_page, render_page, render_recipes
from apps.engine import queries
from apps.engine.profiles import drafts, revisions
from apps.engine.profiles.editing.document import find_lost_comments
from apps.engine.profiles.plugins import convert, known_plugins
from apps.engine.profiles.private_keys import visible_to
from apps.scheduler.config import Cause, ConfigError
from apps.scheduler.config.encoding import encode
from apps.scheduler.config.plugin_table import plugins_allowed
from apps.scheduler.config.warnings import find_warnings


@require_http_methods(["GET", "POST"])
@cluster_page
def new_profile(request: Request, cluster: Cluster) -> HttpResponse:
    """The editor. It starts from the active revision, another one, a draft or a preview."""
    if request.method == "POST":
        return _answer(request, cluster)
    initial = _read_start(request, cluster)
    form = ProfileForm(start=initial["configuration"], initial=initial)
    start = {name: initial[name] for name in ("draft", "opened") if name in initial}
    return _render(request, cluster, form, initial["configuration"], **start)


def _answer(request: Request, cluster: Cluster) -> HttpResponse:
    """Save or convert what the editor contains, or show it as commands."""
    try:
        text = _read_text(request)
    except BadRequest as error:
        shown = request.POST.get("configuration", "")
        form = ProfileForm(request.POST, start=shown)
        return _render(request, cluster, form, shown, status=422, refusal=error.message)
    if "convert" in request.POST:
        return _convert(request, cluster, text)
    if "commands" in request.POST:
        return _show_commands(request, cluster, text)
    return _save(request, cluster, text)


@require_POST
@cluster_page
def edit(request: Request, cluster: Cluster) -> HttpResponse:
    """The form for the YAML of the editor, after the changes in the form are written into it."""
    text, lost = _read_text(request), []
    edited, cause = _apply(request, text)
    if edited != text:
        lost = find_lost_comments(text, edited)
    context = _describe(request, cluster, edited, legacy="legacy" in request.POST)
    context |= {"lost": lost, "refusal": cause, "oob": True}
    return render(request, "dashboard/htmx/profile_sheet.html", context)


@require_POST
@cluster_page
def start_preview(request: Request, cluster: Cluster) -> HttpResponse:
    """Start a preview of the configuration in the editor, or of a revision (`?revision=`)."""
    number = parse_whole_number(request.GET, "revision")
    if number:
        revision = revisions.get_revision(cluster, number)
        text, legacy, subject = revision.configuration, revision.legacy, f"revision {number}"
    else:
        text, _ = _apply(request, _read_text(request))
        legacy = "legacy" in request.POST
        draft = request.POST.get("draft", "")
        subject = f"draft {draft}" if draft else "the edited configuration"
    try:
        operation = previewing.start_preview(
            cluster,
            text,
            subject=subject,
            actor=actor(request),
            legacy=legacy,
            decisions=parse_whole_number(request.POST, "decisions") or previewing.DEFAULT_DECISIONS,
            result=request.POST.get("result", ""),
        )
    except ConfigError as refusal:
        raise BadRequest(f"Correct the configuration first. {refusal}") from refusal
    if request.htmx:
        return _show_preview(request, cluster, operation.pk)
    return redirect("preview", cluster=cluster.name, number=operation.pk)


@require_GET
@cluster_page
def preview(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    """A preview: its progress, then which decisions differ."""
    return _show_preview(request, cluster, number)


def _show_preview(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    operation, result = previewing.get_preview(cluster, number)
    shows_all = request.GET.get("show") == "all"
    rows = result.decisions if result is not None else []
    context = {
        "cluster": cluster,
        "operation": operation,
        "result": result,
        "text": visible_to(request.user, cluster.pk, result.configuration) if result else "",
        "shows_all": shows_all,
        "page": numbered_page(
            [row for row in rows if shows_all or row.effect.differs], request.GET.dict()
        ),
    }
    return render_page(request, "preview", context)


def _show_commands(request: Request, cluster: Cluster, text: str) -> HttpResponse:
    form, _, cause = _bind(request, text)
    if cause is not None:
        form.add_error("configuration", str(cause))
    return render_recipes(
        request, form, lambda: [profile_recipe(cluster.name, **form.cleaned_data)]
    )


def _bind(request: Request, text: str) -> tuple[ProfileForm, str, Cause | None]:
    """The form with the text after the changes made in it, that text, and `_apply`'s cause."""
    text, cause = _apply(request, text)
    data = request.POST.copy()
    data["configuration"] = text
    return ProfileForm(data, start=text), text, cause


def _save(request: Request, cluster: Cluster, text: str) -> HttpResponse:
    """Save what the editor contains: as a draft, as a revision, or as the active revision."""
    form, text, cause = _bind(request, text)
    data = request.POST
    if form.is_valid() and cause is None and "apply" not in data:
        typed: dict[str, Any] = form.cleaned_data
        try:
            concerns = _find_concerns(cluster, data, typed)
            if concerns and data.getlist("concerns") != concerns:
                return _render(
                    request, cluster, form, text, concerns=concerns, save=data["save"], status=422
                )
            if data.get("save") == "draft":
                return _save_draft(request, cluster, typed)
            return _save_revision(request, cluster, typed, active=data.get("save") != "revision")
        except ConfigError:
            form.add_error("configuration", "The configuration is invalid.")
        except Invalid as refusal:
            form.add_error("name", refusal.causes[0].message)
    status = 200 if "apply" in data and not form.errors else 422
    return _render(request, cluster, form, text, status=status, refusal=cause)


def _find_concerns(cluster: Cluster, data: QueryDict, typed: dict[str, Any]) -> list[str]:
    """What saving would do besides, that a user has to confirm: saving again does."""
    save, name = data.get("save"), typed["name"]
    if save == "draft":
        saved = drafts.drafts_of(cluster).filter(name=name).first()
        if saved is None or data.get("opened") == saved.updated_at.isoformat():
            return []
        opened = " since you opened it" if data.get("draft") == name else ""
        return [f"{saved.user} has saved a draft {name}{opened}. Yours would replace it."]
    if save != "activate":
        return []
    concerns = []
    active = revisions.get_active(cluster)
    if data.get("base", str(active.revision)) != str(active.revision):
        concerns.append(
            f"Revision {active.revision} by {active.user} is active now. "
            f"When you began, it was revision {data['base']}."
        )
    served = {each.scheduler_name for each in revisions.load_configuration(active).profiles}
    configuration = revisions.check(typed["configuration"], legacy=typed["legacy"])
    stranded = queries.count_stranded_pods(cluster, configuration)
    return concerns + [
        describe_stranded_pods(name, count) for name, count in stranded.items() if name in served
    ]


def _save_draft(request: Request, cluster: Cluster, typed: dict[str, Any]) -> HttpResponse:
    saved = drafts.save_draft(
        cluster,
        typed["name"],
        typed["configuration"],
        user=request.user.get_username(),
        note=typed["note"],
        legacy=typed["legacy"],
    )
    messages.success(request, f"Draft {saved.name} saved. The scheduler does not use it.")
    return redirect(f"{request.path}?draft={saved.name}")


def _save_revision(
    request: Request, cluster: Cluster, typed: dict[str, Any], *, active: bool
) -> HttpResponse:
    added = revisions.add_revision(
        cluster,
        typed["configuration"],
        user=request.user.get_username(),
        legacy=typed["legacy"],
        name=typed["name"],
        note=typed["note"],
        active=active,
    )
    if draft := request.POST.get("draft"):
        drafts.drafts_of(cluster).filter(name=draft).delete()
    if active:
        messages.success(request, f"Revision {added.revision} is now active.")
        configuration = revisions.load_configuration(added)
        for name, count in queries.count_stranded_pods(cluster, configuration).items():
            messages.warning(request, describe_stranded_pods(name, count))
        for warning in find_warnings(configuration):
            messages.warning(request, warning)
    else:
        messages.success(request, f"Revision {added.revision} saved. It is not active.")
    return redirect("profile", cluster=cluster.name, revision=added.revision)


def _convert(request: Request, cluster: Cluster, text: str) -> HttpResponse:
    """The editor with its configuration, or that of the import page, converted to v1."""
    text = text or request.POST.get("manifest", "").replace("\r\n", "\n")
    try:
        conversion = convert(text)
    except ConfigError as refusal:
        form = ProfileForm({"configuration": text}, start=text)
        form.add_error("configuration", "The configuration cannot be converted.")
        return _render(request, cluster, form, text, status=422, refusal=refusal.causes[0])
    converted = conversion.configuration
    initial = {"legacy": conversion.legacy, "note": request.POST.get("note", "")}
    form = ProfileForm(start=converted, initial=initial)
    return _render(request, cluster, form, converted, notes=conversion.notes, converted=True)


def _read_start(request: Request, cluster: Cluster) -> dict[str, Any]:
    """The initial values of the editor."""
    if name := request.GET.get("draft"):
        draft = drafts.get_draft(cluster, name)
        fields = ("configuration", "legacy", "note", "name")
        opened = draft.updated_at.isoformat()
        initial = {field: getattr(draft, field) for field in fields}
        return {"draft": draft.name, "opened": opened, **initial}
    if number := parse_whole_number(request.GET, "preview"):
        _, result = previewing.get_preview(cluster, number)
        if result is not None:
            return {"configuration": result.configuration, "legacy": result.legacy}
    number = parse_whole_number(request.GET, "like")
    start = revisions.get_revision(cluster, number) if number else revisions.get_active(cluster)
    text = start.configuration
    if request.GET.get("complete"):
        text = dump_yaml(encode(revisions.load_configuration(start)))
    return {"configuration": text, "legacy": start.legacy}


def _read_text(request: Request) -> str:
    """The text of the chosen file, or else of the text area; BadRequest if it is not text."""
    field = ProfileForm.base_fields["configuration"]
    text = field.widget.value_from_datadict(request.POST, request.FILES, "configuration")
    try:
        return str(field.clean(text)).replace("\r\n", "\n") if text else ""
    except ValidationError as error:
        raise BadRequest(" ".join(error.messages)) from error


def _apply(request: Request, text: str) -> tuple[str, Cause | None]:
    """The text with the changes made in the form, or the reason why they cannot be written."""
    posted = request.POST.copy()
    if "shown" not in posted or (request.htmx and request.htmx.trigger == "id_configuration"):
        return text, None
    posted["shown"] = str(posted["shown"]).replace("\r\n", "\n")
    known = plugins_allowed(known_plugins(), legacy="legacy" in posted)
    try:
        return apply_changes(text, posted, known), None
    except ConfigError as refusal:
        return text, refusal.causes[0]


def _render(
    request: Request,
    cluster: Cluster,
    form: ProfileForm,
    text: str,
    *,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    legacy = bool(form.data.get("legacy") if form.is_bound else form.initial.get("legacy"))
    context = _describe(request, cluster, text, legacy=legacy)
    # what the editor started from, to notice what others have saved since
    start = {"base": str(context["active"].revision), "draft": "", "opened": ""}
    start |= {name: request.POST[name] for name in start if name in request.POST}
    context |= {**start, "form": form, **more}
    context["unsaved"] = request.method == "POST"
    attributes = form.fields["configuration"].widget.attrs
    refreshing = {
        "hx-post": reverse("edit-profile", args=[cluster.name]),
        "hx-target": "#sheet",
        "hx-swap": "morph:outerHTML",
        "hx-sync": "this:replace",
    }
    attributes |= {**refreshing, "hx-trigger": "input delay:400ms"}
    attributes["aria-describedby"] = "verdict"
    form.fields["legacy"].widget.attrs |= {**refreshing, "hx-trigger": "change"}
    if lines := [str(line) for line, _ in context["problems"] if line]:
        attributes["data-wrong"] = ",".join(lines)
    return render_page(request, "new_profile", context, status=status)


def _describe(request: Request, cluster: Cluster, text: str, *, legacy: bool) -> dict[str, Any]:
    """The form for a text, and what is wrong with the text or would change with it."""
    active = revisions.get_active(cluster)
    checked = check_text(cluster, text, active=active, legacy=legacy)
    known = plugins_allowed(known_plugins(), legacy=legacy)
    readable, shown = True, text
    try:
        sheet = build_sheet(text, known, checked.causes)
    except ConfigError:
        readable, shown = False, request.POST.get("shown", "").replace("\r\n", "\n")
        try:
            sheet = build_sheet(shown, known)
        except ConfigError:
            sheet = build_sheet(active.configuration, known)
            shown = active.configuration
    return {
        "cluster": cluster,
        "active": active,
        "sheet": sheet,
        "shown": shown,
        "readable": readable,
        "problems": list_problems(text, checked.causes),
        "effects": checked.effects,
        "warnings": checked.warnings,
        "stranded": [
            describe_stranded_pods(name, count) for name, count in checked.stranded.items()
        ],
        "default_decisions": previewing.DEFAULT_DECISIONS,
    }
