"""New tokens and kubeconfigs: their text is shown, or downloaded, once."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from apps.administration.clusters.kubeconfig import TokenOptions, create_kubeconfig
from apps.cluster.errors import AlreadyExists, ApiError, Invalid
from apps.cluster.models import Cluster
from apps.dashboard.forms.object_form import show_error
from apps.dashboard.forms.tokens import KubeconfigForm, TokenForm
from apps.dashboard.queries.clusters import cluster_names
from apps.dashboard.rendering import Request, cluster_page, posted, render_page, render_refusal
from apps.people import tokens
from apps.people.tokens import in_days


@require_http_methods(["GET", "POST"])
def new_token(request: Request) -> HttpResponse:
    """The form; POST creates the token and shows it."""
    form = TokenForm(posted(request)[0], cluster_names(request.user))
    created = None
    if request.method == "POST" and form.is_valid():
        wanted = form.cleaned_data
        try:
            created = tokens.create_token(
                request.user,
                wanted["name"],
                clusters=wanted.get("clusters") or None,
                read_only=wanted["read_only"],
                expires_at=in_days(wanted["expires"]),
            )
        except (AlreadyExists, Invalid) as refusal:
            show_error(form, refusal)
    status = 422 if form.errors else 200
    response = render_page(request, "new_token", {"form": form, "created": created}, status=status)
    response.headers["Cache-Control"] = "no-store"
    return response


@require_POST
def delete_token(request: Request, number: int) -> HttpResponse:
    """Delete a token of the user."""
    try:
        deleted = tokens.delete_token(request.user, number)
    except ApiError as refusal:
        return render_refusal(request, refusal)
    messages.success(request, f"Token {deleted.name} deleted. Programs that use it are rejected.")
    return redirect("account")


@require_http_methods(["GET", "POST"])
@cluster_page
def kubeconfig(request: Request, cluster: Cluster) -> HttpResponse:
    """The form; POST creates a token and answers with the file."""
    form = KubeconfigForm(posted(request)[0])
    if request.method == "POST" and form.is_valid():
        try:
            return _kubeconfig_file(request, cluster, form)
        except (AlreadyExists, Invalid) as refusal:
            show_error(form, refusal)
    context = {"cluster": cluster, "form": form}
    return render_page(request, "kubeconfig", context, status=422 if form.errors else 200)


def _kubeconfig_file(request: Request, cluster: Cluster, form: KubeconfigForm) -> HttpResponse:
    wanted = form.cleaned_data
    token_options = TokenOptions(
        wanted["name"], in_days(wanted["expires"]), wanted["read_only"], wanted["only_cluster"]
    )
    text = create_kubeconfig(cluster, request.user, wanted["root"] or None, token_options)
    headers = {
        "Content-Disposition": f'attachment; filename="{cluster.name}.kubeconfig"',
        "Cache-Control": "no-store",
    }
    return HttpResponse(text, content_type="application/yaml", headers=headers)
