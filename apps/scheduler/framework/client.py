"""The client with which plugins write objects that do not belong to a decision.

Nothing is written at once. Requests are written with the scheduler's next writes; a request that
fails (the object was deleted) is only logged. Writes that belong to the pod being scheduled, and
must happen only if it is bound, are added to its decision instead: ``intents.add``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from apps.scheduler.framework.guard import presentable
from apps.scheduler.framework.intents import Intent, MergePatch, PodEvent
from apps.scheduler.framework.types import PodInfo


class Client:
    """Thread-safe. ``on_request`` is called after every request."""

    def __init__(self, on_request: Callable[[], None] = lambda: None) -> None:
        self._on_request = on_request
        self._guard = threading.Lock()
        self._intents: list[Intent] = []

    def patch(
        self,
        kind: str,
        name: str,
        patch: Mapping[str, Any],
        *,
        namespace: str = "",
        subresource: str = "",
    ) -> None:
        """Change an object by a JSON merge patch.

        Raises TypeError or ValueError for a patch that is not JSON or cannot be stored.
        """
        self._ask(MergePatch(kind, namespace, name, patch, subresource))

    def event(
        self,
        pod: PodInfo,
        reason: str,
        note: str,
        *,
        action: str = "Scheduling",
        warning: bool = False,
    ) -> None:
        """Record an event about a pod; ``reason`` in CamelCase, ``note`` is human-readable."""
        reporter = pod.pod.spec.scheduler_name
        self._ask(
            PodEvent(
                pod.namespace,
                pod.name,
                pod.uid,
                presentable(reason),
                presentable(note),
                action,
                warning,
                reporter,
                pod.pod.metadata.resource_version,
            )
        )

    def request(self, intents: Iterable[Intent]) -> None:
        """Write these, in their order."""
        for intent in intents:
            self._ask(intent)

    def take(self) -> tuple[Intent, ...]:
        """All requests since the last call."""
        with self._guard:
            intents, self._intents = tuple(self._intents), []
        return intents

    def _ask(self, intent: Intent) -> None:
        with self._guard:
            self._intents.append(intent)
        self._on_request()
