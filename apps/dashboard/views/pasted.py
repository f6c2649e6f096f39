"""A pasted cluster: questions about it, answered at once; it is not stored."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from apps.administration.pasted.confined import ask_confined
from apps.cluster.errors import ApiError
from apps.dashboard.forms.pasted import PastedForm
from apps.dashboard.forms.yaml_problems import show_problem
from apps.dashboard.rendering import Request, posted, render_page


@require_http_methods(["GET", "POST"])
def pasted(request: Request) -> HttpResponse:
    """The form, and below it the answers about what was posted."""
    form = PastedForm(*posted(request))
    context: dict[str, Any] = {"form": form}
    if request.method == "POST" and form.is_valid():
        try:
            context["answer"] = ask_confined(
                form.texts(),
                form.cleaned_data["configuration"] or "",
                user=request.user.get_username(),
            )
        except ApiError as refusal:
            field, colon, rest = refusal.message.partition(": ")
            known = colon and field in form.fields
            show_problem(
                form, field if known else "manifest", None, rest if known else refusal.message
            )
    return render_page(request, "pasted", context, status=422 if form.errors else 200)
