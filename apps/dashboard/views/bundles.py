"""Bundles of decisions: opened from a file, and not stored."""

from __future__ import annotations

import base64
import binascii

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from apps.cluster.errors import ApiError, BadRequest
from apps.dashboard.decision_page.funnel import funnel_steps
from apps.dashboard.decision_page.scores import score_table
from apps.dashboard.rendering import Request, render_page
from apps.engine.results.refusals import group_refusals
from apps.studies.bundles.contents import MAX_FILE
from apps.studies.bundles.opening import open_bundle
from apps.studies.bundles.presenting import present_bundle


@require_http_methods(["GET", "POST"])
def bundles(request: Request) -> HttpResponse:
    """The form; for a posted file, its decision with its explanation.

    The page holds the file for the next question about it: bundles are not stored.
    """
    if request.method == "GET":
        return render_page(request, "bundles", {})
    try:
        data = _read_file(request)
        opened = open_bundle(data)
        node, against = (request.POST.get(name, "").strip() for name in ("node", "against"))
        shown = present_bundle(opened, node=node or against, against=against if node else "")
    except ApiError as error:
        problem = error.message.removeprefix("bundle: ")
        return render_page(request, "bundles", {"problem": problem}, status=422)
    refusals = group_refusals(opened.decision)
    context = {
        "opened": opened,
        "presented": shown,
        "row": opened.row,
        "explained": shown.explanation,
        "funnel": funnel_steps(opened.decision, refusals),
        "refusals": refusals,
        "table": score_table(opened.matrix, {}),
        "kept": base64.b64encode(data).decode(),
        "node": node,
        "against": against,
        "names": sorted(filter(None, opened.decision.nodes)),
    }
    return render_page(request, "bundles", context)


def _read_file(request: Request) -> bytes:
    """The chosen file, or the one that the page held."""
    file = request.FILES.get("file")
    if file is not None:
        return bytes(file.read(MAX_FILE + 1))
    kept = request.POST.get("kept", "")
    if not kept:
        raise BadRequest("choose the file of a bundle")
    try:
        return base64.b64decode(kept, validate=True)
    except binascii.Error as error:
        raise BadRequest("choose the file of the bundle again") from error
