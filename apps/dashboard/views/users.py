"""The users of the site, for site admins."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.cluster.errors import AlreadyExists, BadRequest, Invalid
from apps.dashboard.forms.object_form import show_error
from apps.dashboard.forms.users import InvitationForm
from apps.dashboard.paging import parse_whole_number
from apps.dashboard.rendering import Request, posted, render_page, site_page
from apps.people import accounts, identities, sessions, tokens
from apps.people.mail import send_link


@require_http_methods(["GET", "POST"])
@site_page
def users(request: Request) -> HttpResponse:
    """The list; POST invites one and shows the link."""
    form = InvitationForm(posted(request)[0])
    if request.method == "POST" and form.is_valid():
        try:
            return _show_link(request, accounts.invite_user(**form.cleaned_data))
        except (AlreadyExists, Invalid) as refusal:
            show_error(form, refusal)
    context = {"form": form, "users": accounts.list_users()}
    return render_page(request, "users", context, status=422 if form.errors else 200)


@require_GET
@site_page
def user(request: Request, name: str) -> HttpResponse:
    """One user, with tokens, identities and sessions."""
    account = accounts.user_named(name)
    context = {
        "about": account,
        "tokens": tokens.list_tokens(account),
        "identities": identities.list_identities(account),
        "sessions": sessions.list_sessions(account),
        "now": timezone.now(),
    }
    return render_page(request, "user", context)


@require_POST
@site_page
def change_user(request: Request, name: str) -> HttpResponse:
    """Apply `action`."""
    account, action = accounts.user_named(name), request.POST.get("action", "")
    match action:
        case "reset":
            return _show_link(request, accounts.reset_user(account))
        case "activate" | "deactivate":
            accounts.set_active(account, action == "activate")
            messages.success(request, f"User {name} {action}d.")
        case "add-site-admin" | "remove-site-admin":
            accounts.set_site_admin(account, action == "add-site-admin")
            now = "now a site admin" if account.is_superuser else "no longer a site admin"
            messages.success(request, f"{name} is {now}.")
        case "sign-out":
            ended = sessions.end_sessions(account)
            messages.success(request, f"Sessions of {name} signed out: {ended}.")
        case "delete-token":
            number = parse_whole_number(request.POST, "token") or 0
            deleted = tokens.delete_token(account, number)
            messages.success(request, f"Token {deleted.name} of {name} deleted.")
        case "delete-identity":
            number = parse_whole_number(request.POST, "identity") or 0
            identity = identities.delete_identity(account, number)
            messages.success(request, f"{name} no longer signs in as {identity}.")
        case _:
            raise BadRequest(f"unknown action {action!r}")
    return redirect("user", name=name)


def _show_link(request: Request, link: accounts.PasswordLink) -> HttpResponse:
    url = request.build_absolute_uri(link.path)
    context = {"link": link, "url": url, "mailed": send_link(link, url)}
    response = render_page(request, "password_link", context)
    response.headers["Cache-Control"] = "no-store"
    return response
