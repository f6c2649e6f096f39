"""Refuses requests that change something while the disk of the database is full."""

from __future__ import annotations

import re
from typing import Final

from django.template.loader import get_template

from apps.cluster import storage
from schedweb.front.asgi import Scope, Send, respond
from schedweb.front.statuses import status_body

_SAFE: Final = ("GET", "HEAD", "OPTIONS", "TRACE")
#: Sessions are small, reviews write nothing, and deleting a cluster gives room.
_ALLOWED = re.compile(
    r"POST /(login|logout)|POST /k8s/[^/]+/apis/auth(orization|entication)\.k8s\.io/.*"
    r"|DELETE /api/v1/clusters/[^/]+"
)


async def refuse_change(scope: Scope, send: Send) -> bool:
    """Answer a request that changes something, if there is no room for it; whether it did."""
    if scope["method"] in _SAFE or not (shortage := storage.shortage()):
        return False
    if _ALLOWED.fullmatch(f"{scope['method']} {scope['path']}"):
        return False
    refusal = storage.DiskFull(shortage)
    if scope["path"].startswith(("/k8s/", "/api/")):
        body, kind = status_body(refusal.code, refusal.reason, refusal.message)
    else:
        page = get_template("503.html").render({"reason": refusal.message})
        body, kind = page.encode(), "text/html; charset=utf-8"
    await respond(send, refusal.code, body, kind, headers={"retry-after": "5"})
    return True
