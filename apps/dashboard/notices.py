"""Notices with a way back: what was done, and a button that undoes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.contrib import messages
from django.template.loader import render_to_string

from apps.dashboard.rendering import Request


def done_with_undo(
    request: Request, text: str, address: str, fields: Mapping[str, str | Sequence[str]]
) -> None:
    """Say what was done; the button posts `fields` to `address`."""
    pairs = [
        (name, value)
        for name, values in fields.items()
        for value in ([values] if isinstance(values, str) else values)
    ]
    context = {"text": text, "address": address, "fields": pairs}
    messages.success(request, render_to_string("dashboard/inc/undo.html", context, request))


def go_on_to(request: Request, usual: str) -> str:
    """Where a form wants to go on (`next`), if that is one of our own pages; else `usual`."""
    target = request.POST.get("next", "")
    inside = target.startswith("/") and not target.startswith(("//", "/\\"))
    return target if inside else usual
