"""Logging in and out."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django_htmx.http import HttpResponseClientRedirect


@method_decorator(login_not_required, name="dispatch")
class Login(LoginView):
    """Name and password; somebody who is logged in goes on to the clusters."""

    template_name = "dashboard/login.html"
    redirect_authenticated_user = True

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.headers.get("HX-Request"):
            # a region asked after its session ended: take the whole page to the login
            return HttpResponseClientRedirect(self.request.path)
        return super().dispatch(request, *args, **kwargs)
