"""Opportunistic batching: pods that cannot be told apart take the next nodes of one ranking.

As upstream with the feature gate OpportunisticBatching. The nodes that a decision ranked below its
own are kept. If the next pod that is popped has the same signature, comes soon enough, and does not
fit on the node that was taken last, the best of them is tried before all others, unscored.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from apps.scheduler.decision import Decision
    from apps.scheduler.framework.interface import Plugin
    from apps.scheduler.framework.types import PodInfo

#: returns an index into equally good nodes, which are in name order
ChooseName = Callable[[Sequence[str]], int]
#: seconds for which a ranking is used
MAX_AGE: Final = 0.5


@dataclass(frozen=True, slots=True)
class BatchHint:
    """A node that comes next in the ranking of an earlier decision."""

    node: str
    #: the pod of that decision, and the number of its attempt
    pod_key: str
    pod_uid: str
    attempt: int


@dataclass(slots=True)
class _Kept:
    """The ranking of a decision."""

    signature: Hashable
    decision: Decision
    at: float
    #: how many nodes are left, and which: (total, name), sorted when they are first needed
    count: int
    left: list[tuple[int, str]] | None = None

    def pop(self, choose: ChooseName) -> str:
        """The best node that is left."""
        decision = self.decision
        if self.left is None:
            names = (decision.nodes[row] for row in decision.feasible.tolist())
            ranked = zip((-decision.total).tolist(), names, strict=True)
            self.left = sorted(each for each in ranked if each[1] != decision.node)
        best = self.left[0][0]
        tied = next((i for i, each in enumerate(self.left) if each[0] != best), len(self.left))
        self.count -= 1
        return self.left.pop(choose([name for _, name in self.left[:tied]]))[1]


class OpportunisticBatch:
    """The ranking that the next pod of a profile may continue.

    ``plugins``: those that filter and score. Without a ``sign_pod`` of each, no pod does.
    """

    def __init__(self, plugins: Iterable[Plugin]) -> None:
        signers: dict[str, Any] = {each.name: each for each in plugins}
        # Not inherited: a subclass that changes a method may read more than its base.
        self._signs = all("sign_pod" in vars(type(each)) for each in signers.values())
        #: the plugin that did not sign a pod is asked about the next one first
        self._signers = list(signers.values())
        self.kept: _Kept | None = None
        #: the last decision with a node: its scheduling cycle and its node
        self._cycle = -1
        self.last_node = ""

    def sign(self, pod: PodInfo) -> Hashable | None:
        """Equal for pods that the plugins cannot tell apart; None for one that is never batched."""
        if not self._signs:
            return None
        signs = []
        for place, each in enumerate(self._signers):
            sign = each.sign_pod(pod)
            if sign is None:
                if place:
                    self._signers.insert(0, self._signers.pop(place))
                return None
            signs.append((each.name, sign))
        return frozenset(signs)

    def may_continue(self, signature: Hashable, cycle: int, now: float) -> bool:
        """Whether such a pod continues the ranking, if it does not fit on ``last_node``."""
        kept = self.kept
        return (
            kept is not None
            and kept.count > 0
            and cycle == self._cycle + 1
            and signature == kept.signature
            and now <= kept.at + MAX_AGE
        )

    def pop(self, choose: ChooseName) -> BatchHint:
        """The next node of the ranking, which is no longer in it."""
        assert self.kept is not None
        decision = self.kept.decision
        node = self.kept.pop(choose)
        return BatchHint(node, decision.pod_key, decision.pod_uid, decision.attempt)

    def keep(
        self, signature: Hashable | None, hinted: str, decision: Decision, cycle: int, now: float
    ) -> None:
        """A node was chosen; ``hinted`` is what ``pop`` returned before, "" if it was not called.

        A decision for another node than this replaces the ranking.
        """
        self._cycle, self.last_node = cycle, decision.node
        if hinted == decision.node:
            return
        others = len(decision.feasible) - 1
        kept = signature is not None and others > 0
        self.kept = _Kept(signature, decision, now, others) if kept else None
