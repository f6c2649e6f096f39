"""What the plugin reads of a pod: pods that it cannot tell apart share an object."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import msgspec

from apps.scheduler.cache.listers import Listers
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.helper.default_selector import sources_version
from apps.scheduler.plugins.podtopologyspread.constraints import (
    DO_NOT_SCHEDULE,
    SCHEDULE_ANYWAY,
    SpreadConstraint,
    compile_constraints,
)
from apps.scheduler.plugins.podtopologyspread.default_constraints import DefaultConstraints
from apps.scheduler.plugins.podtopologyspread.filtering import SpreadFilter
from apps.scheduler.plugins.podtopologyspread.scoring import SpreadScores

#: the number of signs, and of pods' labels and specs with a known sign
_MAX_KNOWN: Final = 4096


class SpreadSign:
    """Equal only to itself. A part is None if the pod has no constraint of that kind."""

    def __init__(self, filter: SpreadFilter | None, scores: SpreadScores | None) -> None:
        self.filter = filter
        self.scores = scores


#: of pods without constraints
NOT_SPREAD: Final = SpreadSign(None, None)


class SpreadSigns:
    """The constraints of pods, and their signs.

    With ``system_defaulted`` nodes without a zone are still scored by host for pods without
    constraints of their own.
    """

    def __init__(
        self, defaults: DefaultConstraints, listers: Listers, *, system_defaulted: bool
    ) -> None:
        self._defaults = defaults
        self._listers = listers
        self._system_defaulted = system_defaulted
        self._encoder = msgspec.msgpack.Encoder()
        #: (labels, controller, encoded parts of the spec) -> its sign, for this version of sources
        self._by_pod: dict[Hashable, SpreadSign] = {}
        self._version: tuple[int, ...] = ()
        #: constraints and what else matters of a pod -> its sign
        self._by_content: dict[Hashable, SpreadSign] = {}
        #: the last pod that was asked about
        self._last: tuple[PodInfo, SpreadSign] | None = None

    def of(self, pod: PodInfo) -> SpreadSign:
        """The pod's sign; raises SelectorError."""
        if pod.pod.spec.topology_spread_constraints:
            # Constraints of its own do not depend on services and controllers.
            if self._last is not None and self._last[0] is pod:
                return self._last[1]
        elif not self._defaults.apply_to(pod):
            return NOT_SPREAD
        version = sources_version(self._listers)
        if version != self._version or len(self._by_pod) >= _MAX_KNOWN:
            self._by_pod.clear()
            self._version, self._last = version, None
        if self._last is not None and self._last[0] is pod:
            return self._last[1]
        key = self._key(pod)
        sign = self._by_pod.get(key)
        if sign is None:
            sign = self._by_pod[key] = self._find(pod)
        self._last = (pod, sign)
        return sign

    def constraints(self, pod: PodInfo, action: str) -> Sequence[SpreadConstraint]:
        """The pod's own constraints for this action, or the defaults if it has none at all.

        Raises SelectorError.
        """
        own = pod.pod.spec.topology_spread_constraints
        if not own:
            return self._defaults.of(pod, action)
        return compile_constraints(own, action, namespace=pod.namespace, labels=pod.labels)

    def _key(self, pod: PodInfo) -> tuple[Hashable, Hashable, bytes]:
        spec, owner = pod.pod.spec, pod.pod.metadata.controller
        whose = (owner.api_version, owner.kind, owner.name) if owner is not None else None
        node_affinity = spec.affinity.node_affinity if spec.affinity is not None else None
        selection = (spec.node_selector, node_affinity, spec.tolerations)
        written = self._encoder.encode((spec.topology_spread_constraints, *selection))
        return (pod.label_class, whose, written)

    def _find(self, pod: PodInfo) -> SpreadSign:
        hard = tuple(self.constraints(pod, DO_NOT_SCHEDULE))
        soft = tuple(self.constraints(pod, SCHEDULE_ANYWAY))
        if not hard and not soft:
            return NOT_SPREAD
        every = bool(pod.pod.spec.topology_spread_constraints) or not self._system_defaulted
        matches = tuple(each.selector.matches(pod.labels) for each in hard)
        content = (hard, soft, every, matches, self._key(pod)[2])
        known = self._by_content.get(content)
        if known is None:
            if len(self._by_content) >= _MAX_KNOWN:
                self._by_content.clear()
            known = self._by_content[content] = SpreadSign(
                SpreadFilter(pod, hard) if hard else None,
                SpreadScores(pod, soft, require_all_topologies=every) if soft else None,
            )
        return known
