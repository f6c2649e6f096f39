"""The login page; the account: theme, time zone, tokens, kubeconfigs, password; the help."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, PasswordChangeView, PasswordResetConfirmView
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from apps.cluster.errors import ApiError, TooManyRequests
from apps.dashboard import zones
from apps.dashboard.forms.account import NewPasswordForm, PasswordForm, PreferencesForm
from apps.dashboard.notices import get_next_address
from apps.dashboard.preferences import (
    DENSITIES,
    DENSITY_COOKIE,
    KEYS_COOKIE,
    THEME_COOKIE,
    THEMES,
    TIMES,
    TIMES_COOKIE,
    preferences,
    set_preference,
)
from apps.dashboard.queries.accounts import account_parts
from apps.dashboard.rendering import Request, posted, render_page, render_refusal
from apps.dashboard.views.openid import proof_of
from apps.people import accounts, identities, sessions
from apps.people.audit.recording import record
from apps.people.models import AuditEntry
from apps.people.throttling import remember_device


@method_decorator(login_not_required, name="dispatch")
class Login(LoginView):
    """Name and password; authenticated users are redirected to the clusters."""

    template_name = "dashboard/login.html"
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        is_new = accounts.is_site_new()
        return super().get_context_data(openid=settings.OPENID, is_new=is_new, **kwargs)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.headers.get("HX-Request"):
            # a region reloaded after the session expired: redirect the whole page
            return HttpResponseClientRedirect(_login_url(request))
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        remember_device(response, form.get_user())
        return response


def _login_url(request: HttpRequest) -> str:
    """The login page, which leads back to the page that contains the region of this request."""
    page = urlsplit(request.headers.get("HX-Current-URL", ""))
    if not page.path.startswith("/"):
        return request.path
    address = urlunsplit(("", "", page.path, page.query, ""))
    return f"{request.path}?{urlencode({'next': address}, safe='/')}"


def show_lockout(request: Any, *_: Any) -> HttpResponse:
    """After too many wrong passwords: the login page, or an error for a user who is signed in."""
    minutes = int(settings.AXES_COOLOFF_TIME.total_seconds() // 60)
    if request.user.is_authenticated:
        why = f"too many wrong passwords; try again in {minutes} minutes"
        details = {"retryAfterSeconds": minutes * 60}
        return render_refusal(request, TooManyRequests(why, details=details))
    response = render(
        request,
        Login.template_name,
        {"blocked_minutes": minutes, "openid": settings.OPENID},
        status=429,
    )
    response.headers["Retry-After"] = str(minutes * 60)
    return response


@require_http_methods(["GET", "POST"])
def account(request: Request) -> HttpResponse:
    """The preferences of the browser, the tokens and the kubeconfigs of the user."""
    form = PreferencesForm(posted(request)[0], initial=preferences(request))
    if request.method == "POST" and form.is_valid():
        messages.success(request, "Preferences saved.")
        response = redirect("account")
        set_preference(request, response, THEME_COOKIE, form.cleaned_data["theme"])
        set_preference(request, response, zones.COOKIE, form.cleaned_data["zone"])
        set_preference(request, response, TIMES_COOKIE, form.cleaned_data["times"])
        if keys := form.cleaned_data["keys"]:
            set_preference(request, response, KEYS_COOKIE, keys)
        return response
    context = {
        "form": form,
        "openid": settings.OPENID,
        "openid_proof": proof_of(request),
        **account_parts(request.user),
    }
    return render_page(request, "account", context, status=422 if form.errors else 200)


@require_POST
def set_theme(request: Request) -> HttpResponse:
    """Set `theme` or `density`, from the account menu, and return to the page of the menu."""
    response = redirect(get_next_address(request, "/"))
    if (density := request.POST.get("density", "")) in DENSITIES:
        set_preference(request, response, DENSITY_COOKIE, density)
    if (theme := request.POST.get("theme", "")) in THEMES:
        set_preference(request, response, THEME_COOKIE, theme)
    return response


@require_POST
def set_times(request: Request) -> HttpResponse:
    """Set `times`, from the foot of a page, and return to this page."""
    response = redirect(get_next_address(request, "/"))
    if (times := request.POST.get("times", "")) in TIMES:
        set_preference(request, response, TIMES_COOKIE, times)
    return response


class ChangePassword(PasswordChangeView):
    """The old password, and the new one twice."""

    template_name = "dashboard/password.html"
    success_url = reverse_lazy("account")
    form_class = PasswordForm

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}

    def form_valid(self, form: Any) -> HttpResponse:
        record(AuditEntry.Action.PASSWORD_CHANGED, target=self.request.user.get_username())
        messages.success(self.request, "Password changed.")
        response = super().form_valid(form)
        remember_device(response, form.user)
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = 422
        return response


@method_decorator(login_not_required, name="dispatch")
@method_decorator(require_http_methods(["GET", "POST"]), name="dispatch")
class SetPassword(PasswordResetConfirmView):
    """The page of a link for a new password, of an invitation or a reset."""

    template_name = "dashboard/set_password.html"
    form_class = NewPasswordForm
    success_url = reverse_lazy("login")

    def get_user(self, uidb64: str) -> Any:
        user = super().get_user(uidb64)
        return user if user is not None and user.is_active else None

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        if self.validlink and self.user is not None and not self.user.has_usable_password():
            context["openid"] = settings.OPENID
            context["openid_proof"] = proof_of(self.request)
            context["number"] = self.kwargs["uidb64"]
        return context

    def form_valid(self, form: Any) -> HttpResponse:
        name = form.user.get_username()
        record(AuditEntry.Action.PASSWORD_CHANGED, user=name, target=name, details={"by": "link"})
        messages.success(self.request, "Password set. You can sign in with it now.")
        response = super().form_valid(form)
        remember_device(response, form.user)
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = 422
        return response

    def render_to_response(self, context: dict[str, Any], **options: Any) -> HttpResponse:
        options.setdefault("status", 200 if self.validlink else 410)
        response = super().render_to_response(context, **options)
        response.headers["Cache-Control"] = "no-store"
        return response


@require_POST
def end_session(request: Request, session: str) -> HttpResponse:
    """Sign out one session of the user."""
    try:
        sessions.end_session(request.user, session)
    except ApiError as refusal:
        return render_refusal(request, refusal)
    messages.success(request, "Session signed out.")
    return redirect("account")


@require_POST
def delete_identity(request: Request, number: int) -> HttpResponse:
    """Delete the link of the user to an identity at the OpenID Connect provider."""
    try:
        deleted = identities.delete_identity(request.user, number)
    except ApiError as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, f"You no longer sign in as {deleted}.")
    return redirect("account")


@require_POST
def end_sessions(request: Request) -> HttpResponse:
    """Sign the user out everywhere else."""
    ended = sessions.end_sessions(request.user, but=request.session.session_key)
    messages.success(request, f"Other sessions signed out: {ended}.")
    return redirect("account")


@require_GET
def show_help(request: Request) -> HttpResponse:
    """Keyboard shortcuts, the tour, and where to read more."""
    return render_page(request, "help", {})
