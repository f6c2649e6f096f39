"""The interface of an extender: a webhook that takes part in the scheduling cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from apps.scheduler.framework.interface import Victims
from apps.scheduler.framework.status import Status, unresolvable, unschedulable
from apps.scheduler.framework.types import PodInfo

#: the plugin name under which the queue lists pods that an extender refused
EXTENDER_NAME = "Extender"
#: an extender scores from 0 to 10
MAX_EXTENDER_PRIORITY = 10


class ExtenderError(Exception):
    """The call failed; the message is human-readable."""


@dataclass(frozen=True, slots=True)
class ExtenderVerdict:
    """An extender's answer to ``filter``."""

    feasible: frozenset[str]
    #: node -> reason
    failed: Mapping[str, str] = field(default_factory=dict)
    #: node -> reason; preemption cannot help there. Takes precedence over ``failed``.
    unresolvable: Mapping[str, str] = field(default_factory=dict)
    #: the answer has nodes instead of names: they are scored as they are in it, without pods
    has_objects: bool = False

    def refusal(self, node: str) -> Status:
        """Why the node is not feasible; unresolvable if the answer does not contain it."""
        if node in self.unresolvable:
            return unresolvable(self.unresolvable[node])
        return unschedulable(self.failed[node]) if node in self.failed else unresolvable()


class Extender(Protocol):
    """All calls may raise ExtenderError; if ``is_ignorable`` the cycle continues."""

    name: str
    is_ignorable: bool
    is_filter: bool
    is_prioritizer: bool
    is_binder: bool
    supports_preemption: bool
    weight: int

    def is_interested(self, pod: PodInfo) -> bool: ...

    def filter(self, pod: PodInfo, nodes: Sequence[str]) -> ExtenderVerdict: ...

    def prioritize(self, pod: PodInfo, nodes: Sequence[str]) -> Mapping[str, int]:
        """Node -> score, 0..MAX_EXTENDER_PRIORITY; 0 for nodes that are left out."""

    def bind(self, pod: PodInfo, node: str) -> Status | None:
        """Bind the pod itself, instead of the profile's bind plugins."""

    def process_preemption(
        self, pod: PodInfo, candidates: Mapping[str, Victims]
    ) -> Mapping[str, Victims]:
        """The candidates on which preemption helps according to the extender.

        It may drop nodes and change victims.
        """
