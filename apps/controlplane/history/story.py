"""A pod's whole life in order: what was done to it, every attempt to schedule it, every event.

Told from the change log, the ledger, the history of the queue and the events. What retention has
dropped is missing; the rest stays readable after the pod is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from apps.cluster.differences import differences
from apps.cluster.models import Change, Cluster, Event
from apps.controlplane import queries
from apps.controlplane.models import QueueMove, SchedulingDecision

Kind = Literal["change", "attempt", "move", "event"]
Body = Mapping[str, Any]

#: Rows read of each source, the newest.
MOST = 500
#: Events that say again what an attempt says.
_TOLD_BY_ATTEMPTS = frozenset({"Scheduled", "FailedScheduling"})
#: Where a pod goes when it is tried, and when it is bound or gone: told otherwise.
_TOLD_PLACES = (QueueMove.Place.OUTSIDE, QueueMove.Place.IN_FLIGHT)
#: Attempts with the same answer, one after the other, that are all told.
MOST_ALIKE = 3
#: Of what happened at one moment: causes before what they bring about.
_ORDER = {"change": 0, "queued": 1, "attempt": 2, "move": 4, "event": 5}
#: A binding is what an attempt brought about.
_AFTER_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Chapter:
    """One thing that happened to the pod."""

    at: datetime
    kind: Kind
    #: In a word or two: "created", "attempt 3", "bound".
    title: str
    text: str = ""
    user: str = ""
    request_id: str = ""
    #: The decision of an attempt; the version of a change.
    number: int | None = None
    #: scheduled, unschedulable, error for attempts; Normal, Warning for events.
    outcome: str = ""
    node: str = ""
    #: The last of several that are told together.
    until: datetime | None = None
    order: int = field(default=0, compare=False)


def story(cluster: Cluster, uid: UUID) -> list[Chapter]:
    """The chapters of one pod's life, the first thing first; empty for a pod nobody knows."""
    rows = list(queries.decisions(cluster, pod_uid=uid)[:MOST])
    chapters = [*_changes(cluster, uid), *map(_attempt, rows), *_events(cluster, uid)]
    chapters += _moves(cluster, uid, {row.attempt: row.at for row in rows})
    return sorted(chapters, key=lambda chapter: (chapter.at, chapter.order))


def condensed(chapters: Sequence[Chapter]) -> list[Chapter]:
    """The same story for those in a hurry: attempts that got one answer after the other as one.

    The first and the last of them stay; what moved the pod between them is left out.
    """
    told: list[Chapter] = []
    run: list[Chapter] = []
    for chapter in chapters:
        if run and chapter.kind != "move" and not _says_again(run[0], chapter):
            told += _together(run)
            run = []
        if run or chapter.kind == "attempt":
            run.append(chapter)
        else:
            told.append(chapter)
    return [*told, *_together(run)]


def _says_again(first: Chapter, chapter: Chapter) -> bool:
    return (chapter.kind, chapter.outcome, chapter.text) == ("attempt", first.outcome, first.text)


def _together(run: Sequence[Chapter]) -> list[Chapter]:
    """An attempt and what followed; of more than MOST_ALIKE alike the inner ones as one chapter."""
    places = [place for place, chapter in enumerate(run) if chapter.kind == "attempt"]
    if len(places) <= MOST_ALIKE:
        return list(run)
    first, last = run[places[1]], run[places[-2]]
    title = f"{first.title} to {last.title.removeprefix('attempt ')}"
    inner = replace(first, title=title, text="the same answer each time", until=last.at)
    return [*run[: places[1]], inner, *run[places[-1] :]]


def last_body(cluster: Cluster, uid: UUID) -> dict[str, Any] | None:
    """The pod as it was last; None when its changes are no longer kept."""
    newest = Change.objects.filter(cluster=cluster, uid=uid).order_by("-version").first()
    return newest.object if newest is not None else None


def _changes(cluster: Cluster, uid: UUID) -> Iterator[Chapter]:
    newest = Change.objects.filter(cluster=cluster, uid=uid).order_by("-version")[:MOST]
    before: Body = {}
    for change in reversed(newest):
        title, text, node = _told(change, before)
        before = change.object
        if title:
            yield Chapter(
                at=change.at,
                kind="change",
                title=title,
                text=text,
                user=change.user,
                request_id=change.request_id,
                number=change.version,
                node=node,
                order=_AFTER_ATTEMPTS if node else _ORDER["change"],
            )


def _attempt(row: SchedulingDecision) -> Chapter:
    return Chapter(
        at=row.at,
        kind="attempt",
        title=f"attempt {row.attempt}",
        text=_outcome(row),
        number=row.pk,
        outcome=row.result,
        node=row.node,
        order=_ORDER["attempt"],
    )


def _moves(cluster: Cluster, uid: UUID, attempts: Mapping[int, datetime]) -> Iterator[Chapter]:
    """Between the queues; what happens to every pod that is tried goes without saying.

    A move knows how many attempts there were before it. That counts, where its clock and that of
    an attempt (when it was begun: number -> time) disagree by a little.
    """
    found = QueueMove.objects.filter(cluster=cluster, pod_uid=uid).exclude(target__in=_TOLD_PLACES)
    for move in found.order_by("-id")[:MOST]:
        hint = f"{move.plugin}: {move.hint}" if move.plugin and move.hint else move.plugin
        earliest = attempts.get(move.attempt, move.at)
        latest = attempts.get(move.attempt + 1, max(move.at, earliest))
        at = min(max(move.at, earliest), latest)
        yield Chapter(
            at=at,
            kind="move",
            title=f"to {move.get_target_display()}",
            text=", ".join(filter(None, (move.event, hint, move.reason))),
            order=_ORDER["move" if at < latest or move.attempt + 1 not in attempts else "queued"],
        )


def _events(cluster: Cluster, uid: UUID) -> Iterator[Chapter]:
    found = Event.objects.filter(cluster=cluster, involved_uid=str(uid))
    for event in found.exclude(reason__in=_TOLD_BY_ATTEMPTS).order_by("-pk")[:MOST]:
        yield Chapter(
            at=event.created_at,
            kind="event",
            title=event.reason,
            text=event.body.get("message") or "",
            outcome=event.body.get("type") or "Normal",
            order=_ORDER["event"],
        )


def _outcome(row: SchedulingDecision) -> str:
    if row.result == SchedulingDecision.Result.SCHEDULED:
        tied = f", drawn from {row.tied_nodes:,} of equal score" if row.tied_nodes > 1 else ""
        return f"{row.feasible_nodes:,} of {row.nodes:,} nodes were feasible{tied}"
    return " ".join(filter(None, (row.message, row.post_filter_message)))


def _told(change: Change, before: Body) -> tuple[str, str, str]:
    """A change's title, text and node; no title where it tells nothing."""
    after = change.object
    if change.type == Change.Type.ADDED:
        node = _get(after, "spec", "nodeName", "")
        gates = ", ".join(gate["name"] for gate in _get(after, "spec", "schedulingGates", []))
        return "created", f"held by scheduling gates: {gates}" if gates else "", node
    if change.type == Change.Type.DELETED:
        return "deleted", "", ""
    if not before:
        return "changed", "the version before is no longer kept", ""
    for tell in _TELLERS:
        if told := tell(before, after):
            return told
    paths = [each.path for each in differences(before, after)]
    return ("changed", ", ".join(paths), "") if paths else ("", "", "")


def _bound(before: Body, after: Body) -> tuple[str, str, str] | None:
    node = _get(after, "spec", "nodeName", "")
    if node and not _get(before, "spec", "nodeName", ""):
        return "bound", "", node
    return None


def _deletion(before: Body, after: Body) -> tuple[str, str, str] | None:
    metadata = after["metadata"]
    if metadata.get("deletionTimestamp") and not before["metadata"].get("deletionTimestamp"):
        grace = metadata.get("deletionGracePeriodSeconds")
        return "asked to stop", f"{grace} s of grace" if grace else "", ""
    return None


def _disrupted(before: Body, after: Body) -> tuple[str, str, str] | None:
    target = _condition(after, "DisruptionTarget")
    if target and target != _condition(before, "DisruptionTarget"):
        return "evicted", f"{target.get('reason', '')}: {target.get('message', '')}", ""
    return None


def _gates(before: Body, after: Body) -> tuple[str, str, str] | None:
    had = {gate["name"] for gate in _get(before, "spec", "schedulingGates", [])}
    gone = had - {gate["name"] for gate in _get(after, "spec", "schedulingGates", [])}
    return ("gate removed", ", ".join(sorted(gone)), "") if gone else None


def _nominated(before: Body, after: Body) -> tuple[str, str, str] | None:
    old = _get(before, "status", "nominatedNodeName", "")
    new = _get(after, "status", "nominatedNodeName", "")
    if new and new != old:
        return "nominated", "it waits until victims have left", new
    if old and not new and not _get(after, "spec", "nodeName", ""):
        return "nomination withdrawn", f"of {old}", ""
    return None


def _phase(before: Body, after: Body) -> tuple[str, str, str] | None:
    old, new = _get(before, "status", "phase", ""), _get(after, "status", "phase", "")
    reason = _get(after, "status", "reason", "")
    return (new.lower(), reason, "") if new and new != old else None


def _refused(before: Body, after: Body) -> tuple[str, str, str] | None:
    """The condition an attempt leaves says what the attempt says: nothing more to tell."""
    old, new = _condition(before, "PodScheduled"), _condition(after, "PodScheduled")
    only = all(
        each.path.startswith(("status.conditions", "metadata.generation", "status.observed"))
        for each in differences(before, after)
    )
    if only and new != old:
        if new.get("reason") == "SchedulingGated":
            return "gated", new.get("message", ""), ""
        return "", "", ""
    return None


_TELLERS: tuple[Callable[[Body, Body], tuple[str, str, str] | None], ...] = (
    _bound,
    _deletion,
    _disrupted,
    _gates,
    _nominated,
    _phase,
    _refused,
)


def _condition(body: Body, name: str) -> Body:
    for condition in _get(body, "status", "conditions", []):
        if condition.get("type") == name:
            found: Body = condition
            return found
    return {}


def _get(body: Body, part: str, name: str, default: Any) -> Any:
    return (body.get(part) or {}).get(name) or default
