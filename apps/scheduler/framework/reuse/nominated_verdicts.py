"""The verdicts on the rows of nominated pods, with these pods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.pod_change import PodChange
from apps.scheduler.framework.verdicts import Passed

if TYPE_CHECKING:
    from apps.scheduler.cache.snapshot import Snapshot


@dataclass(slots=True)
class _Known:
    nominated: PodChange
    #: the verdicts on the rows of these pods
    others: NodeStatuses
    #: the state of the snapshot for which they hold
    node_version: int
    position: int
    #: the verdicts without nominated pods, and what the two leave
    base: Passed | None = None
    passed: Passed | None = None

    def holds(self, nominated: PodChange, snapshot: Snapshot) -> bool:
        """Whether they hold for these pods, and none of the rows has changed."""
        if nominated is not self.nominated or self.node_version != snapshot.node_version:
            return False
        rows = snapshot.rows_changed_since(self.position)
        if rows is None or not nominated.place_of.keys().isdisjoint(rows):
            return False
        self.position = snapshot.pods_position
        return True


class NominatedVerdicts:
    """The last cycle's verdicts on rows with nominated pods, valid until one of them changes."""

    def __init__(self) -> None:
        self._known: _Known | None = None

    def forget(self) -> None:
        """The filters are others than in the last cycle."""
        self._known = None

    def overrule(
        self,
        base: Passed,
        nominated: PodChange,
        snapshot: Snapshot,
        ask: Callable[[], NodeStatuses],
        *,
        keep: bool,
    ) -> Passed:
        """``base`` without the rows refused because of nominated pods.

        ``ask``: the verdicts on the rows of ``nominated`` with these pods. ``keep``: whether they
        are those of the next pod of the signature, too.
        """
        known = self._known
        if known is None or not known.holds(nominated, snapshot):
            known = _Known(nominated, ask(), snapshot.node_version, snapshot.pods_position)
            self._known = known if keep else None
        if known.passed is None or known.base is not base:
            overruled = base.statuses.copy()
            overruled.overrule(nominated.rows, known.others)
            known.base, known.passed = base, Passed.left_by(overruled)
        return known.passed
