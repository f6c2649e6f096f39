"""The pods that Permit plugins hold as rows, for the pages and the API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from psycopg.types.numeric import Int8

from apps.cluster.arrays import nested, texts, times, uuids
from apps.cluster.prepared import Step, insert
from apps.engine.models import PermitWait
from apps.engine.periods import to_datetime
from apps.scheduler.framework.waiting_pods import WaitingPods

_DELETE = "DELETE FROM controlplane_permitwait WHERE cluster_id = $1 AND pod_uid = ANY($2)"


@dataclass(frozen=True, slots=True)
class Wait:
    """A held pod: its node, the plugins that have not allowed it, and when one rejects it."""

    node: str
    plugins: tuple[str, ...]
    #: seconds since the epoch
    since: float
    deadline: float


#: uid -> wait
Waits = Mapping[str, Wait]


class PermitWaits:
    """Writes the rows of one cluster, and remembers which are in the database."""

    def __init__(self, cluster_id: int) -> None:
        self._cluster_id = cluster_id
        self._stored: dict[str, Wait | None] = {}

    def load(self) -> None:
        """Read which pods have a row of an earlier holder of the lease: all are out of date."""
        rows = PermitWait.objects.filter(cluster=self._cluster_id)
        self._stored = {str(uid): None for uid in rows.values_list("pod_uid", flat=True)}

    def read(self, held: WaitingPods) -> Waits:
        """The waits now; a pod that all plugins have allowed waits no longer."""
        return {
            each.pod.uid: Wait(
                each.node_name, tuple(sorted(each.pending)), each.since, each.deadline
            )
            for each in held
            if each.pending and each.rejection is None
        }

    def has_changed(self, held: WaitingPods) -> bool:
        """Whether the rows are out of date."""
        return (bool(held) or bool(self._stored)) and self.read(held) != self._stored

    def steps(self, waits: Waits) -> list[Step]:
        """The steps that make the rows equal to `waits`."""
        if not waits and not self._stored:
            return []
        new = {uid: wait for uid, wait in waits.items() if self._stored.get(uid) != wait}
        ended = [uid for uid in self._stored if uid not in waits]
        steps = []
        if ended:
            steps.append(Step("waits_ended", _DELETE, [Int8(self._cluster_id), uuids(ended)]))
        if new:
            columns = {
                "cluster_id": Int8(self._cluster_id),
                "pod_uid": uuids(list(new)),
                "node": texts([wait.node for wait in new.values()]),
                "plugins": nested([wait.plugins for wait in new.values()]),
                "since": times([to_datetime(wait.since) for wait in new.values()]),
                "deadline": times([to_datetime(wait.deadline) for wait in new.values()]),
            }
            steps.append(insert("waits", PermitWait, columns, conflict="cluster_id, pod_uid"))
        return steps

    def mark_committed(self, waits: Waits) -> None:
        """The steps for these waits are committed."""
        self._stored = dict(waits)
