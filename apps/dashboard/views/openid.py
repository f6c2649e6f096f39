"""Login with OpenID Connect. Both addresses are links: the provider redirects to them with GET.

A link that links an identity to a user has a proof that a page of the same session has shown it:
otherwise another site could send a user, who is signed in here, to the provider with an account
of its own, and would have linked that.
"""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import INTERNAL_RESET_SESSION_TOKEN
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET

from apps.cluster.errors import ApiError, Forbidden
from apps.people import openid
from apps.people.openid import Invitation
from apps.people.throttling import remember_device

#: In the session: where to go after the login, and whether it is to link the present user, or the
#: one who was invited with this number.
_NEXT, _LINKS, _INVITED = "openid-next", "openid-links", "openid-invited"
_SALT: Final = "apps.dashboard.views.openid"


def proof_of(request: HttpRequest) -> str:
    """What a page of this session adds to a link that links an identity."""
    return salted_hmac(_SALT, request.session.session_key or "").hexdigest()


@login_not_required
@require_GET
def start(request: HttpRequest) -> HttpResponse:
    """Redirect to the provider; with `link`, to link the user or, with `invited`, that one."""
    proof = request.GET.get("link")
    try:
        if proof is not None and not constant_time_compare(proof, proof_of(request)):
            raise Forbidden("the session has changed; start again")
        response = openid.start(request, request.build_absolute_uri(reverse("openid-callback")))
    except ApiError as refusal:
        return _show_problem(request, refusal)
    invited = request.GET.get("invited", "")
    request.session[_NEXT] = request.GET.get("next", "")
    request.session[_LINKS] = proof is not None and not invited
    request.session[_INVITED] = invited if proof is not None else ""
    return response


@login_not_required
@require_GET
def callback(request: HttpRequest) -> HttpResponse:
    """The provider sends the browser here with a code."""
    address = request.session.pop(_NEXT, "")
    links, invited = request.session.pop(_LINKS, False), request.session.pop(_INVITED, "")
    token = str(request.session.get(INTERNAL_RESET_SESSION_TOKEN, ""))
    try:
        if links:
            user = openid.link(request)
        else:
            user = openid.finish(request, Invitation(invited, token) if invited else None)
    except ApiError as refusal:
        return _show_problem(request, refusal)
    if links:
        messages.success(request, "You can now also sign in with the provider.")
    own = url_has_allowed_host_and_scheme(
        address, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    response = redirect(address if own and address else "clusters")
    remember_device(response, user)
    return response


def _show_problem(request: HttpRequest, refusal: ApiError) -> HttpResponse:
    context = {"problem": refusal.message, "openid": settings.OPENID}
    return render(request, "dashboard/login.html", context, status=refusal.code)
