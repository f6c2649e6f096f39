"""The audit log, for site admins."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from apps.dashboard.queries.audit import audit_list
from apps.dashboard.rendering import Request, render_page, site_page


@require_GET
@site_page
def audit(request: Request) -> HttpResponse:
    entries = audit_list(request.GET, request.user)
    return render_page(request, "audit", {"audit": entries}, status=422 if entries.problem else 200)
