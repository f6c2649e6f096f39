"""Makes recorded decisions again, each in the state that it saw, until one differs.

The state follows the change log and the ledger, as the engine did. Where that is not exact, such as
after a restart of the engine, it is rebuilt for the decision; and a decision that differs is made
again in a rebuilt state before it counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from apps.cluster.errors import Expired
from apps.cluster.log.changelog import LoggedChange
from apps.engine.ledger.reading import read
from apps.engine.models import SchedulingDecision
from apps.scheduler.decision import Decision
from apps.studies.rebuilding import PastState, compare, rebuild_state_before
from apps.studies.rebuilding.earlier import apply_earlier
from apps.studies.rebuilding.following import apply_change
from apps.studies.rebuilding.previewing import Effect, compare_outcomes
from apps.studies.rebuilding.replaying import CannotRecompute, decide_again
from apps.studies.replay.span import Span

#: What counts as the recorded decision: with equal scores, the draw falls as recorded.
_SAME = (Effect.SAME, Effect.TIED)


@dataclass(slots=True)
class Retracing:
    """Recorded decisions, made again in order."""

    span: Span
    #: whether the draws follow from a seed: a decision with a draw then counts as one that differs
    draws_anew: bool
    #: whether decisions are compared in every status and score
    is_strict: bool
    state: PastState | None = None
    #: decisions that were made again, and those that could not be
    equal: int = 0
    unknown: int = 0
    #: with `is_strict`: decisions with another status or score
    inexact: list[int] = field(default_factory=list)
    #: pods, as "namespace/name", that decisions of the state's version have preempted
    victims: set[str] = field(default_factory=set)
    _changes: Iterator[LoggedChange] | None = None
    _next: LoggedChange | None = None
    #: whether the state is that of a row without having been rebuilt for it
    _followed: bool = False
    _victims_at: int = 0

    def is_same(self, row: SchedulingDecision) -> bool:
        """Make a decision again; whether it is the recorded one. The state is that before it."""
        recorded = read(row).decision
        if self.draws_anew and _was_drawn(recorded):
            self.reach(row)
            return False
        try:
            again = self._decide(row, recorded)
        except (CannotRecompute, Expired):
            self.unknown += 1
            return True
        if again is None:
            return False
        self.equal += 1
        if self.is_strict and compare(recorded, again):
            self.inexact.append(row.pk)
        return True

    def pass_by(self, row: SchedulingDecision) -> None:
        """Apply a decision that is the recorded one."""
        if row.cluster_version != self._victims_at:
            self.victims, self._victims_at = set(), row.cluster_version
        self.victims.update(row.victims)
        state = self.state
        if state is not None and state.version == row.cluster_version:
            apply_earlier(state.scheduler, state.pending, row)
            state.sequence = row.sequence + 1

    def _decide(self, row: SchedulingDecision, recorded: Decision) -> Decision | None:
        """The decision, if it is the recorded one."""
        state = self.reach(row)
        for _ in range(2):
            profiles = state.scheduler.profiles
            if row.scheduler_name not in profiles and self.span.configuration is not None:
                return None
            again = decide_again(state, row, recorded)
            differs = compare_outcomes(recorded, again) not in _SAME
            if not differs and not (self.is_strict and compare(recorded, again)):
                return again
            if not self._followed:
                return None if differs else again
            state = self._rebuild(row)
        return None

    def reach(self, row: SchedulingDecision) -> PastState:
        """The state before a row."""
        if self.state is None or not self._can_follow(self.state, row):
            return self._rebuild(row)
        self._follow(self.state, row)
        self._followed = True
        return self.state

    def _can_follow(self, state: PastState, row: SchedulingDecision) -> bool:
        seen = read(row).seen
        return (
            state.loaded_at == seen.loaded_at
            and state.revision == row.profile_revision
            and (state.version, state.sequence) <= (row.cluster_version, row.sequence)
            and not (seen.expected or seen.released or state.is_of_trial)
        )

    def _follow(self, state: PastState, row: SchedulingDecision) -> None:
        state.scheduler.clock.at = row.at.timestamp()  # type: ignore[attr-defined]
        if state.version == row.cluster_version:
            return
        if self._changes is None:
            self._changes = self.span.changes(state.version)
            self._next = next(self._changes, None)
        while self._next is not None and self._next.version <= row.cluster_version:
            if self._next.version > state.version:
                apply_change(state.scheduler, state.pending, self._next)
            self._next = next(self._changes, None)
        state.version, state.sequence = row.cluster_version, 0

    def _rebuild(self, row: SchedulingDecision) -> PastState:
        self.state = None
        chosen = self.span.configuration
        self.state = rebuild_state_before(row, chosen.loaded if chosen is not None else None)
        self._followed = False
        return self.state


def _was_drawn(decision: Decision) -> bool:
    """Whether a random number decided something."""
    preemption = decision.post_filter
    return len(decision.ties) > 1 or (preemption is not None and len(preemption.ties) > 1)
