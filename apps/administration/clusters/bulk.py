"""One action on many nodes or pods: the selected ones, or all that a filter matches.

Objects are written in batches, one transaction each, so that an action on thousands of objects
reports its progress and can be cancelled between two batches. Each action can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from apps.cluster import kinds, node_changes
from apps.cluster.errors import ApiError, BadRequest, NotFound, TooManyRequests
from apps.cluster.models import Cluster
from apps.cluster.node_changes import BulkResult, Change
from apps.cluster.writes import Actor, Delete, Update, Write
from apps.cluster.writing import store
from apps.cluster.writing.eviction import evict

Resource = Literal["nodes", "pods"]
#: Called with the number of objects done, and the total.
Progress = Callable[[int, int], None]

#: resource -> action -> its past participle, for messages ("3 nodes cordoned")
ACTIONS: Mapping[Resource, Mapping[str, str]] = {
    "nodes": {
        "cordon": "cordoned",
        "uncordon": "uncordoned",
        "taint": "tainted",
        "untaint": "untainted",
        "label": "labeled",
        "annotate": "annotated",
        "delete": "deleted",
    },
    "pods": {
        "label": "labeled",
        "annotate": "annotated",
        "evict": "evicted",
        "delete": "deleted",
    },
}
#: Actions with a text: a taint, a label or an annotation in kubectl's notation.
WITH_TEXT: Mapping[str, Callable[[str], Change]] = {
    "taint": node_changes.change_taint,
    "untaint": node_changes.remove_taint,
    "label": node_changes.change_label,
    "annotate": node_changes.change_annotation,
}
_KINDS = {"nodes": kinds.NODE, "pods": kinds.POD}
#: Objects per transaction.
_BATCH = 250


@dataclass(frozen=True, slots=True)
class BulkAction:
    """What to do with each object. Raises BadRequest for an unknown action or an invalid text."""

    resource: Resource
    name: str
    text: str = ""

    def __post_init__(self) -> None:
        known = ACTIONS.get(self.resource, {})
        if self.name not in known:
            raise BadRequest(f"unknown action {self.name!r}; actions are {', '.join(known)}")
        if self.name in WITH_TEXT:
            WITH_TEXT[self.name](self.text)

    def title(self, total: int) -> str:
        """Such as "Label 5,000 nodes: disk=ssd"."""
        text = f": {self.text}" if self.name in WITH_TEXT else ""
        return f"{self.name.capitalize()} {count(total, self.resource)}{text}"

    @property
    def done_word(self) -> str:
        return ACTIONS[self.resource][self.name]


def apply(
    cluster: Cluster,
    action: BulkAction,
    names: Sequence[str],
    *,
    actor: Actor,
    progress: Progress = lambda done, total: None,
) -> BulkResult:
    """Apply the action to nodes by name, or to pods by `namespace/name`.

    Objects whose write is refused remain unchanged; those that no longer exist are ignored.
    """
    names = list(dict.fromkeys(names))
    done, refusals = 0, []
    for start in range(0, len(names), _BATCH):
        batch = names[start : start + _BATCH]
        for outcome in _apply_batch(cluster, action, batch, actor):
            if outcome is None:
                done += 1
            elif not isinstance(outcome, NotFound):
                refusals.append(outcome.message)
        progress(start + len(batch), len(names))
    return BulkResult(done, refusals)


def check(cluster: Cluster, action: BulkAction, name: str, *, actor: Actor) -> None:
    """Raise the ApiError with which the store would refuse the text of the action."""
    if action.name in WITH_TEXT:
        # without an object, nothing can be validated
        with suppress(NotFound):
            store.write(cluster, [_build_write(action, name)], actor=actor, dry_run=True)


def count(number: int, resource: str) -> str:
    """ "1 node", "5,000 nodes"."""
    return f"{number:,} {resource.removesuffix('s') if number == 1 else resource}"


def _apply_batch(
    cluster: Cluster, action: BulkAction, names: Sequence[str], actor: Actor
) -> list[ApiError | None]:
    """The error of each object whose write was refused, None for the others."""
    if action.name == "evict":
        return [_evict(cluster, name, actor) for name in names]
    writes = [_build_write(action, name) for name in names]
    outcomes = store.write(cluster, writes, actor=actor, collect_refusals=True)
    return [outcome if isinstance(outcome, ApiError) else None for outcome in outcomes]


def _build_write(action: BulkAction, name: str) -> Write:
    kind = _KINDS[action.resource]
    namespace, _, own = name.rpartition("/")
    if action.name == "delete":
        return Delete(kind, namespace, own)
    if action.name in WITH_TEXT:
        return Update(kind, namespace, own, WITH_TEXT[action.name](action.text))
    return Update(kind, namespace, own, node_changes.cordon(action.name == "cordon"))


def _evict(cluster: Cluster, name: str, actor: Actor) -> ApiError | None:
    namespace, _, own = name.rpartition("/")
    try:
        evict(cluster, namespace, own, actor=actor)
    except TooManyRequests as error:
        causes = error.details.get("causes") or [{"message": error.message}]
        return TooManyRequests(f"{name}: {causes[0]['message']}")
    except ApiError as error:
        return error
    return None
