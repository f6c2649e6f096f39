"""The login page."""

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
    """Name and password; authenticated users are redirected to the clusters."""

    template_name = "dashboard/login.html"
    redirect_authenticated_user = True

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.headers.get("HX-Request"):
            # a region reloaded after the session expired: redirect the whole page
            return HttpResponseClientRedirect(self.request.path)
        return super().dispatch(request, *args, **kwargs)
