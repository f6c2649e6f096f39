"""Outcomes of dry runs that are known from preemptors that no filter can tell apart."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

import numpy as np

from apps.scheduler.cache.change_log import ChangeLog, LogReader
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.preemption.budgets import Budgets
from apps.scheduler.preemption.outcomes import Outcomes

#: bytes for all outcomes together, and how many of them a row takes
_MAX_BYTES: Final = 32 * 1024 * 1024
_BYTES_PER_ROW: Final = 100
_MIN_KNOWN: Final = 4
#: distinct statuses, after which outcomes are computed again
_MAX_STATUSES: Final = 1024


@dataclass(slots=True)
class _Known:
    outcomes: Outcomes
    #: what they were computed from: see Snapshot and Budgets
    node_version: int
    position: int
    budgets: int
    #: names of nodes on which nominations changed, and pods that count the same
    nominations: LogReader[str]
    replaced: LogReader[str]


class KnownOutcomes:
    """Brings outcomes up to date by forgetting those of the rows that changed."""

    def __init__(self, handle: Handle, budgets: Budgets) -> None:
        self._handle = handle
        self._budgets = budgets
        self._known: OrderedDict[Hashable, _Known] = OrderedDict()
        #: uid of a nominated pod -> name of its node
        self._nominated: dict[str, str] = {}
        self._nominations: ChangeLog[str] = ChangeLog()
        handle.nominator.subscribe(self._note_nomination)

    def find(self, signature: Hashable, pod: PodInfo) -> Outcomes:
        """The outcomes known for a pod whose filters have this signature in its cycle.

        Outcomes found in this cycle may be added to them.
        """
        key = (signature, pod.priority)
        known = self._known.get(key)
        if known is None or not self._update(known):
            known = self._known[key] = self._nothing_known()
            limit = max(_MIN_KNOWN, _MAX_BYTES // (_BYTES_PER_ROW * len(self._handle.snapshot)))
            while len(self._known) > limit:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return known.outcomes

    def forget_own_node(self, outcomes: Outcomes, pod: PodInfo) -> None:
        """Forget the row to which ``pod`` is nominated: the pod does not respect itself."""
        name = self._nominated.get(pod.uid)
        if name is not None:
            self._forget(outcomes, [name])

    def clear(self) -> None:
        self._known.clear()

    def _nothing_known(self) -> _Known:
        snapshot = self._handle.snapshot
        known = _Known(
            Outcomes(len(snapshot)),
            snapshot.node_version,
            snapshot.pods_position,
            self._budgets.version,
            LogReader(self._nominations),
            LogReader(self._handle.replaced_pods),
        )
        known.nominations.news()
        known.replaced.news()
        return known

    def _update(self, known: _Known) -> bool:
        """Forget what has changed; False if that is not known."""
        snapshot, outcomes = self._handle.snapshot, known.outcomes
        if (known.node_version, known.budgets) != (snapshot.node_version, self._budgets.version):
            return False
        rows = snapshot.rows_changed_since(known.position)
        nominated, replaced = known.nominations.news(), known.replaced.news()
        if rows is None or nominated is None or replaced is None:
            return False
        if len(outcomes.statuses.statuses) > _MAX_STATUSES:
            return False
        known.position = snapshot.pods_position
        outcomes.forget(np.asarray(rows, dtype=np.int64))
        self._forget(outcomes, [*nominated, *replaced])
        return True

    def _forget(self, outcomes: Outcomes, names: list[str]) -> None:
        rows = [row for name in names if (row := self._handle.snapshot.row_of(name)) >= 0]
        outcomes.forget(np.array(rows, dtype=np.int64))

    def _note_nomination(self, pod: PodInfo, node_name: str, sign: int) -> None:
        self._nominations.append(node_name)
        if sign > 0:
            self._nominated[pod.uid] = node_name
        else:
            self._nominated.pop(pod.uid, None)
