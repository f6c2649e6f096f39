"""Login with OpenID Connect. Both addresses are links: the provider redirects to them with GET."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET

from apps.cluster.errors import ApiError
from apps.people import openid

#: Where to go after the login, in the session.
_NEXT = "openid-next"


@login_not_required
@require_GET
def start(request: HttpRequest) -> HttpResponse:
    """Redirect to the provider."""
    try:
        response = openid.start(request, request.build_absolute_uri(reverse("openid-callback")))
    except ApiError as refusal:
        return _show_problem(request, refusal)
    request.session[_NEXT] = request.GET.get("next", "")
    return response


@login_not_required
@require_GET
def callback(request: HttpRequest) -> HttpResponse:
    """The provider sends the browser here with a code."""
    address = request.session.pop(_NEXT, "")
    was_logged_in = request.user.is_authenticated
    try:
        openid.finish(request)
    except ApiError as refusal:
        return _show_problem(request, refusal)
    if was_logged_in:
        messages.success(request, "You can now also sign in with the provider.")
    own = url_has_allowed_host_and_scheme(
        address, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return redirect(address if own and address else "clusters")


def _show_problem(request: HttpRequest, refusal: ApiError) -> HttpResponse:
    context = {"problem": refusal.message, "openid": settings.OPENID}
    return render(request, "dashboard/login.html", context, status=refusal.code)
