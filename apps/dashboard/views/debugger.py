"""The step debugger: the next attempt of a paused cluster, one extension point at a time."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from apps.cluster.errors import ApiError, BadRequest, Conflict
from apps.cluster.models import Cluster
from apps.dashboard.rendering import Request, cluster_page, render_page
from apps.studies.debugger.committing import commit
from apps.studies.debugger.cycle import Changes
from apps.studies.debugger.stepping import SteppedAttempt, find_pending, next_pod, step

#: Nodes in the table at most.
_MAX_ROWS: Final = 200


@require_http_methods(["GET", "POST"])
@cluster_page
def debugger(request: Request, cluster: Cluster) -> HttpResponse:
    """The attempt up to a step; a posted form commits it. The address is the whole session."""
    query = request.POST if request.method == "POST" else request.GET
    context: dict[str, Any] = {"cluster": cluster}
    try:
        pod = query.get("pod", "").strip()
        uid = find_pending(cluster, pod) if pod else next_pod(cluster)
        changes = Changes(_read_verdicts(query), _read_scores(query))
        version = _read_number(query, "version")
        if request.method == "POST":
            row = commit(cluster, uid, changes, version=version)
            messages.success(request, f"The decision about {row.namespace}/{row.name} is recorded.")
            return redirect("decision", cluster.name, row.pk)
        if uid:
            context |= _show(query, step(cluster, uid, changes, version=version or None))
    except ApiError as error:
        status = 409 if isinstance(error, Conflict) else 422
        return render_page(
            request, "debugger", {**context, "problem": error.message}, status=status
        )
    return render_page(request, "debugger", context)


def _show(query: QueryDict, attempt: SteppedAttempt) -> dict[str, Any]:
    last = len(attempt.points)
    place = min(max(_read_number(query, "step") or 1, 1), last)
    shown = attempt.points[:place]
    names = {each.name for each in shown}
    scored = "PreScore and Score" in names
    matrix = attempt.scores
    scores = {node: at for at, node in enumerate(matrix.nodes)} if scored else {}
    rows: list[dict[str, Any]] = [
        {
            "node": node,
            "rejected": rejected if "Filter" in names else "",
            "is_changed": is_changed,
            "total": int(matrix.total[scores[node]]) if node in scores else None,
            "scores": matrix.scores_at(scores[node]) if node in scores else (),
        }
        for node, rejected, is_changed in attempt.nodes
    ]
    rows.sort(key=lambda row: (bool(row["rejected"]), -(row["total"] or 0), row["node"]))
    kept = {"pod": attempt.decision.pod_key, "version": attempt.version}
    kept |= {f"verdict.{node}": _word(passes) for node, passes in attempt.changes.verdicts.items()}
    kept |= {f"score.{plugin}/{node}": n for (plugin, node), n in attempt.changes.scores.items()}
    return {
        "attempt": attempt,
        "decision": attempt.decision,
        "points": shown,
        "place": place,
        "last": last,
        "filtered": "Filter" in names,
        "scored": scored and len(matrix.nodes),
        "selected": "Selection" in names,
        "rows": rows[:_MAX_ROWS],
        "changed_scores": [
            {
                "plugin": plugin,
                "node": node,
                "score": score,
                "without": urlencode(
                    {k: v for k, v in kept.items() if k != f"score.{plugin}/{node}"}
                ),
            }
            for (plugin, node), score in attempt.changes.scores.items()
        ],
        "more": max(0, len(rows) - _MAX_ROWS),
        "kept": kept.items(),
        "address": f"?{urlencode(kept)}",
    }


def _word(passes: bool) -> str:
    return "accept" if passes else "reject"


def _read_verdicts(query: QueryDict) -> dict[str, bool]:
    """`verdict.NODE=accept` or `reject`; an empty value changes nothing."""
    verdicts = {}
    for name, value in query.items():
        node = name.removeprefix("verdict.")
        if node != name and value:
            if value not in ("accept", "reject"):
                raise BadRequest(f"verdict of {node}: {value} is neither accept nor reject")
            verdicts[node] = value == "accept"
    if query.get("node") and query.get("verdict") in ("accept", "reject"):
        verdicts[query.get("node", "")] = query["verdict"] == "accept"
    return verdicts


def _read_scores(query: QueryDict) -> dict[tuple[str, str], int]:
    """`score.PLUGIN/NODE=70`, and the fields of the form: `plugin`, `scored` (a node), `score`."""
    given = {
        name.removeprefix("score."): query.get(name, "")
        for name in query
        if name.startswith("score.")
    }
    if query.get("plugin") and query.get("scored"):
        given[f"{query.get('plugin')}/{query.get('scored', '').strip()}"] = query.get("score", "")
    scores = {}
    for name, value in given.items():
        plugin, _, node = name.partition("/")
        if not (value.isascii() and value.isdecimal() and len(value) < 4):
            raise BadRequest(f"score of {node} by {plugin}: must be a number from 0 to 100")
        scores[plugin, node] = int(value)
    return scores


def _read_number(query: QueryDict, name: str) -> int:
    text = query.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else 0
