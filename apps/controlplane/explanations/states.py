"""The rebuilt state that was asked for last: explanations of one decision come in a row."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from apps.cluster.models import Cluster
from apps.controlplane import rebuilding
from apps.controlplane.models import SchedulingDecision
from apps.controlplane.profiles import revisions
from apps.controlplane.rebuilding import PastState

#: A state that is further behind than so many changes is built anew.
_FOLLOW = 5000


class States:
    """One state of the past and one of the present for a process; one thread looks at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._decision = 0
        self._past: PastState | None = None
        self._present: PastState | None = None

    @contextmanager
    def before(self, row: SchedulingDecision) -> Iterator[PastState]:
        """What a decision saw; raises what `rebuilding.rebuild_state_before` raises."""
        with self._lock:
            if self._past is None or self._decision != row.pk:
                self._past = None
                self._past = rebuilding.rebuild_state_before(row)
                self._decision = row.pk
            yield self._past

    @contextmanager
    def now(self, cluster: Cluster) -> Iterator[PastState]:
        """What is written of the cluster up to its version, under its active profile.

        What is tried in it has to be taken back.
        """
        with self._lock:
            state, revision = self._present, revisions.get_active(cluster).revision
            version = cluster.resource_version
            if (
                state is None
                or state.cluster.pk != cluster.pk
                or state.revision != revision
                or not 0 <= version - state.version <= _FOLLOW
            ):
                self._present = None
                self._present = state = rebuilding.rebuild_state_at(
                    cluster, version, revision=revision
                )
            state.follow(version)
            try:
                yield state
            except BaseException:
                # whoever tried something in it may not have taken everything back
                self._present = None
                raise


states = States()
