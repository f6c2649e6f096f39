"""The writes that a decision requests: the binding, and what has to precede it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.guard import is_storable


class Binding(msgspec.Struct, frozen=True):
    """Set ``spec.nodeName`` of a pod."""

    namespace: str
    name: str
    uid: str
    node: str
    #: the extender that has bound the pod: the pod may be on that node already
    bound_by: str = ""


@dataclass(frozen=True, slots=True)
class MergePatch:
    """Merge ``patch`` (JSON merge patch) into an object; "" as namespace for cluster-scoped."""

    kind: str
    namespace: str
    name: str
    patch: Mapping[str, Any]
    #: "status" to patch the status
    subresource: str = ""

    def __post_init__(self) -> None:
        """Raises TypeError or ValueError for a patch that cannot be stored."""
        json.dumps(self.patch)
        if not all(is_storable(text) for text in _texts(self.patch)):
            raise ValueError("the patch holds a NUL character or a lone surrogate")


@dataclass(frozen=True, slots=True)
class Creation:
    """Create an object, with the name that its metadata has."""

    kind: str
    namespace: str
    name: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Deletion:
    """Delete an object; nothing happens if it does not exist."""

    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Eviction:
    """Evict a pod: a condition is added to its status, then it is deleted."""

    namespace: str
    name: str
    uid: str
    #: of the condition DisruptionTarget
    message: str
    #: False for a pod that is not bound yet: it returns to the queue instead
    delete: bool = True
    #: as the event Preempted names what it makes room for, and where; "" for the pod of the
    #: decision and its nominated node
    beneficiary: str = ""
    #: the resourceVersion of the pod, as its events name it
    version: str = ""


@dataclass(frozen=True, slots=True)
class PodEvent:
    """Record an event about a pod."""

    namespace: str
    name: str
    uid: str
    reason: str
    note: str
    action: str
    warning: bool = False
    #: schedulerName of the profile that reports it
    reporter: str = ""
    #: the resourceVersion of the pod, as its events name it
    version: str = ""


Intent = Binding | MergePatch | Creation | Deletion | Eviction | PodEvent


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def add(state: CycleState, intent: Intent) -> None:
    """Request a write, to be committed in one transaction with the decision."""
    state.intents.append(intent)


def take(state: CycleState) -> tuple[Intent, ...]:
    """The writes requested so far, which the caller has written without the decision."""
    intents = of(state)
    state.intents.clear()
    return intents


def of(state: CycleState) -> tuple[Intent, ...]:
    """The writes requested in this cycle, in order."""
    return tuple(state.intents)
