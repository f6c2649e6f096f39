"""Notices with an undo button, and the page that a form leads to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.contrib import messages
from django.template.loader import render_to_string

from apps.dashboard.rendering import Request


def add_undo_notice(
    request: Request, text: str, address: str, fields: Mapping[str, str | Sequence[str]]
) -> None:
    """Show `text` on the next page, with a button that posts `fields` to `address`."""
    pairs = [
        (name, value)
        for name, values in fields.items()
        for value in ([values] if isinstance(values, str) else values)
    ]
    context = {"text": text, "address": address, "fields": pairs}
    messages.success(request, render_to_string("dashboard/inc/undo.html", context, request))


def get_next_address(request: Request, default: str) -> str:
    """The form's `next` address if it is on this site, else `default`."""
    target = request.POST.get("next", "")
    inside = target.startswith("/") and not target.startswith(("//", "/\\"))
    return target if inside else default
