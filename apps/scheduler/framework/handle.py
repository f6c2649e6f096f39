"""What a plugin gets besides its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from apps.scheduler.cache.change_log import ChangeLog
from apps.scheduler.cache.pod_groups import PodGroups
from apps.scheduler.features import FeatureGates
from apps.scheduler.framework.client import Client
from apps.scheduler.framework.waiting_pods import WaitingPods

if TYPE_CHECKING:
    from apps.scheduler.cache.listers import Listers
    from apps.scheduler.cache.snapshot import Snapshot
    from apps.scheduler.clock import Clock
    from apps.scheduler.framework.extender import Extender
    from apps.scheduler.framework.filtering import Filters
    from apps.scheduler.framework.gated_fields import View
    from apps.scheduler.framework.nominated import PodNominator
    from apps.scheduler.framework.types import PodInfo
    from apps.scheduler.objects import Pod


class PodActivator(Protocol):
    def activate(self, pods: Iterable[Pod]) -> None:
        """Move pending pods to activeQ at once."""

    def pending_pods(self) -> Sequence[Pod]:
        """All pods that wait, without those in flight."""


@dataclass(slots=True)
class Handle:
    """The scheduler's parts that plugins may use; one for each profile.

    ``filters`` are the profile's own: preemption runs Filter and AddPod/RemovePod through them.
    They are set after the plugins have been built, so use them in extension points, not in
    constructors.
    """

    snapshot: Snapshot
    listers: Listers
    nominator: PodNominator
    clock: Clock
    #: pods held by Permit plugins: iterate over them, ``get``, ``allow``, ``reject``
    waiting_pods: WaitingPods = field(default_factory=WaitingPods)
    #: to change objects and record events
    client: Client = field(default_factory=Client)
    extenders: Sequence[Extender] = ()
    #: the pod with this uid if it is assumed or bound, else None
    find_pod: Callable[[str], PodInfo | None] = lambda uid: None
    #: names of nodes, one for each new version of a pod there that changes no column
    replaced_pods: ChangeLog[str] = field(default_factory=ChangeLog)
    #: cancels the binding of the pod with this uid, for a reason; False unless PreBind is running
    call_off_binding: Callable[[str, str], bool] = lambda uid, reason: False
    #: the pods of each PodGroup
    pod_groups: PodGroups = field(default_factory=PodGroups)
    #: chooses among so many equally good things; returns an index
    draw: Callable[[int], int] = lambda choices: 0
    #: the feature gates of the configuration
    gates: FeatureGates = field(default_factory=FeatureGates)
    #: pods without the fields that the feature gates turn off
    view: View = lambda pod: pod
    #: the queue; None until it exists, which needs the plugins
    activator: PodActivator | None = None
    _filters: Filters | None = None

    @property
    def filters(self) -> Filters:
        if self._filters is None:
            raise RuntimeError("the framework is not built yet")
        return self._filters

    def attach(self, filters: Filters) -> None:
        """Called once by the framework when its plugins exist."""
        self._filters = filters

    def activate(self, pods: Iterable[Pod]) -> None:
        """Move pending pods to activeQ at once, whatever they wait for.

        A plugin that wants this only if the current pod is scheduled uses framework.activation.
        """
        if self.activator is not None:
            self.activator.activate(pods)

    def pending_pods(self) -> Sequence[Pod]:
        """All pods in the queue, whatever they wait for; not the pod at hand, nor held ones."""
        return () if self.activator is None else self.activator.pending_pods()
