"""What plugins have written without a decision of their own: the client they are given.

Nothing is written at once. What is asked for goes to the cluster with the scheduler's next writes;
a refusal (the object is gone) is logged and that is all. What belongs to the pod being scheduled,
and must not be written unless it is bound, is better added to its decision: ``intents.add``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from apps.scheduler.framework.intents import Intent, MergePatch, PodEvent
from apps.scheduler.framework.types import PodInfo


class Client:
    """May be used in any thread. ``asked`` is called after every request."""

    def __init__(self, asked: Callable[[], None] = lambda: None) -> None:
        self._asked = asked
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
        """Change an object by a JSON merge patch."""
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
        """Record an event about a pod; ``reason`` in CamelCase, ``note`` for people."""
        reporter = pod.pod.spec.scheduler_name
        self._ask(
            PodEvent(pod.namespace, pod.name, pod.uid, reason, note, action, warning, reporter)
        )

    def take(self) -> tuple[Intent, ...]:
        """Everything asked for since the last call."""
        with self._guard:
            intents, self._intents = tuple(self._intents), []
        return intents

    def _ask(self, intent: Intent) -> None:
        with self._guard:
            self._intents.append(intent)
        self._asked()
