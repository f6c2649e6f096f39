"""A cache of rebuilt states: several explanations of one decision are usually requested."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from django.db import connection

from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster
from apps.engine.models import SchedulingDecision
from apps.engine.profiles import revisions
from apps.scheduler.explaining.evaluation import Evaluation, evaluate
from apps.scheduler.framework.status import StatusError
from apps.studies import rebuilding
from apps.studies.rebuilding import PastState

#: The errors with which a state cannot be rebuilt, or its pod not be evaluated.
GAPS = (ApiError, Cluster.DoesNotExist, StatusError)
NO_POD = "The pod does not exist at that version of the cluster."

log = logging.getLogger(__name__)

#: A state that is more changes behind than this is rebuilt.
_FOLLOW = 5000


class StateSource(Protocol):
    """Where the state that a decision saw comes from: the change log, or a bundle."""

    def before(self, row: SchedulingDecision) -> AbstractContextManager[PastState]:
        """The state, whose changes the caller undoes; raises one of GAPS."""
        ...


class States:
    """The states of a process, used by one thread at a time.

    One that a decision saw, one at a past version, and a present one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._decision = 0
        self._past: PastState | None = None
        self._version: PastState | None = None
        self._present: PastState | None = None

    @contextmanager
    def before(self, row: SchedulingDecision) -> Iterator[PastState]:
        """The state that a decision saw; raises the errors of `rebuild_state_before`.

        The caller undoes its changes of the state.
        """
        with self._lock:
            if self._past is None or self._decision != row.pk:
                known, self._past = self._past, None
                if known is not None and known.can_advance_to(row):
                    known.advance(row)
                    self._past = known
                else:
                    self._past = rebuilding.rebuild_state_before(row)
                self._decision = row.pk
            try:
                yield self._past
            except ApiError:
                raise
            except BaseException:
                # the caller may not have undone its changes
                self._past = None
                raise

    def prepare(self, row: SchedulingDecision) -> None:
        """Start to rebuild the state that a decision saw in another thread, unless one is busy."""
        if self._decision != row.pk and not self._lock.locked():
            self._start(lambda: self.before(row))

    def prepare_now(self, cluster: Cluster) -> None:
        """Start to rebuild the present state in another thread, unless one is busy."""
        if not self.has_present(cluster) and not self._lock.locked():
            self._start(lambda: self.now(cluster))

    def has_present(self, cluster: Cluster) -> bool:
        """Whether the state of the cluster is in memory, perhaps of some changes ago."""
        state = self._present
        return state is not None and state.cluster.pk == cluster.pk

    def _start(self, rebuild: Callable[[], AbstractContextManager[PastState]]) -> None:
        threading.Thread(target=self._prepare, args=(rebuild,), daemon=True).start()

    def _prepare(self, rebuild: Callable[[], AbstractContextManager[PastState]]) -> None:
        try:
            with rebuild():
                pass
        except Exception:
            # a request that needs the state reports the error
            log.debug("could not prepare a state", exc_info=True)
        finally:
            connection.close()

    @contextmanager
    def at(self, cluster: Cluster, version: int) -> Iterator[PastState]:
        """The state of the cluster at a version; raises the errors of `rebuild_state_at`.

        The caller does not change it.
        """
        with self._lock:
            state = self._version
            if state is None or (state.cluster.pk, state.version) != (cluster.pk, version):
                self._version = None
                state = rebuilding.rebuild_state_at(cluster, version)
                self._version = state
            yield state

    @contextmanager
    def now(self, cluster: Cluster) -> Iterator[PastState]:
        """The state of the cluster at its present version, under its active revision.

        The caller undoes its changes of the state.
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
                # the caller may not have undone its changes
                self._present = None
                raise


states = States()


def evaluate_before(state: PastState, row: SchedulingDecision) -> Evaluation | None:
    """The pod of a decision in the state that it saw; None if the pod or its profile is missing."""
    pod = state.pod(str(row.pod_uid))
    if pod is None or row.scheduler_name not in state.scheduler.profiles:
        return None
    return evaluate(state.scheduler, pod)


def describe_gap(failure: Exception) -> str:
    """Why there are no figures, for one of GAPS."""
    if isinstance(failure, ApiError):
        return failure.message
    if isinstance(failure, StatusError):
        return failure.status.message
    return "The cluster is deleted; only its ledger remains."
