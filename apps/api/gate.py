"""The permission of all views of the framework: the table of routes."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import MethodNotAllowed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from apps.cluster.access import gate
from apps.cluster.access.rates import count_request


class RoutePermission(BasePermission):
    """Lets a request pass that its user may send.

    Raises NotFound or Forbidden of `apps.cluster.errors` for another one, and TooManyRequests.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        if not request.user.is_authenticated:
            return False
        count_request(request.user.get_username())
        match = request._request.resolver_match
        assert match is not None
        if not gate.serves(match.url_name, str(request.method)):
            raise MethodNotAllowed(str(request.method))
        gate.check(request.user, match.url_name, str(request.method), match.kwargs)
        return True
