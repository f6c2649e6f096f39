"""The login page; the account: theme, time zone, token, kubeconfigs, password; the help."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from apps.cluster.auth import delete_token, find_token, replace_token
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.controlplane.clusters.kubeconfig import ROOTS, build_kubeconfig
from apps.dashboard import zones
from apps.dashboard.forms.account import PreferencesForm
from apps.dashboard.notices import get_next_address
from apps.dashboard.preferences import (
    THEME_COOKIE,
    THEMES,
    preferences,
    set_preference,
)
from apps.dashboard.queries.clusters import cluster_names
from apps.dashboard.rendering import Request, cluster_page, render_page


@method_decorator(login_not_required, name="dispatch")
class Login(LoginView):
    """Name and password; authenticated users are redirected to the clusters."""

    template_name = "dashboard/login.html"
    redirect_authenticated_user = True

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.headers.get("HX-Request"):
            # a region reloaded after the session expired: redirect the whole page
            return HttpResponseClientRedirect(self.request.path)
        return super().dispatch(request, *args, **kwargs)


@require_http_methods(["GET", "POST"])
def account(request: Request) -> HttpResponse:
    """The preferences of the browser, the token and the kubeconfigs of the user."""
    form = PreferencesForm(request.POST or None, initial=preferences(request))
    if request.method == "POST" and form.is_valid():
        messages.success(request, "Preferences saved.")
        response = redirect("account")
        set_preference(request, response, THEME_COOKIE, form.cleaned_data["theme"])
        set_preference(request, response, zones.COOKIE, form.cleaned_data["zone"])
        return response
    context = {
        "form": form,
        "token": find_token(request.user),
        "names": cluster_names(request.user),
    }
    return render_page(request, "account", context, status=422 if form.errors else 200)


@require_POST
def set_theme(request: Request) -> HttpResponse:
    """Set `theme`, from the account menu, and return to the page of the menu."""
    response = redirect(get_next_address(request, "/"))
    if (theme := request.POST.get("theme", "")) in THEMES:
        set_preference(request, response, THEME_COOKIE, theme)
    return response


@require_POST
def change_token(request: Request) -> HttpResponse:
    """Create, replace or delete the user's token."""
    if request.POST.get("action") == "delete":
        delete_token(request.user)
        messages.success(request, "Token deleted. Programs that use it are refused.")
    else:
        replace_token(request.user)
        messages.success(request, "New token created. An earlier one is no longer valid.")
    return redirect("account")


@require_GET
@cluster_page
def kubeconfig(request: Request, cluster: Cluster) -> HttpResponse:
    """The kubeconfig of the user for this cluster, as a file; `root` as for the command."""
    root = request.GET.get("root")
    if root is not None and root not in ROOTS:
        raise BadRequest(f"root: {root!r} is not one of {', '.join(ROOTS)}")
    text = build_kubeconfig(cluster, request.user, root)
    headers = {
        "Content-Disposition": f'attachment; filename="{cluster.name}.kubeconfig"',
        "Cache-Control": "no-store",
    }
    return HttpResponse(text, content_type="application/yaml", headers=headers)


class ChangePassword(PasswordChangeView):
    """The old password, and the new one twice."""

    template_name = "dashboard/password.html"
    success_url = reverse_lazy("account")

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, "Password changed.")
        return super().form_valid(form)

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = 422
        return response


@require_GET
def show_help(request: Request) -> HttpResponse:
    """Keyboard shortcuts, the tour, and where to read more."""
    return render_page(request, "help", {})
