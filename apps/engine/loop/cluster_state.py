"""What a loop reads before each batch: one statement instead of one for each question."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from apps.cluster import sql
from apps.cluster.exchange import Answer, Exchange, exchange
from apps.cluster.log.announce import CHANNEL
from apps.cluster.models import Cluster
from apps.cluster.settings import CHANGEABLE

#: Columns that may change while a loop runs, and take effect at once.
_SETTINGS: Final = (
    "due_at",
    "manual_time",
    "clock_until",
    "quotas",
    "admission_version",
    *(setting.name for setting in CHANGEABLE),
)
_JSON: Final = {setting.name for setting in CHANGEABLE if setting.kind == "plugins"}
_COLUMNS: Final = (
    f"{', '.join(f'c.{name}' for name in _SETTINGS)}, "
    "c.resource_version, c.forgotten_version, c.paused, "
    "(SELECT revision FROM controlplane_configurationrevision "
    "WHERE cluster_id = c.id AND active), "
    "EXISTS (SELECT FROM controlplane_queueactivation WHERE cluster_id = c.id)"
)
_STATEMENT: Final = f"SELECT {_COLUMNS} FROM cluster_cluster c WHERE c.id = $1"
_ANNOUNCING: Final = (
    f"SELECT {_COLUMNS}, pg_notify('{CHANNEL}', c.id || ' ' || c.resource_version) "
    "FROM cluster_cluster c WHERE c.id = $1"
)


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The state of a cluster that its loop depends on, besides its objects and settings."""

    #: the version of the last change
    version: int
    #: changes up to this version may have been deleted
    forgotten_version: int
    paused: bool
    #: the active revision of the configuration
    revision: int | None
    #: whether users asked for pods to be activated
    has_activations: bool


def read_state(cluster: Cluster) -> ClusterState | None:
    """Read the state, and refresh the settings of `cluster`; None if it was deleted."""
    with exchange() as sent:
        answer = send_look(sent, cluster)
        sent.receive()
    return take_in(answer, cluster)


def send_look(sent: Exchange, cluster: Cluster) -> Answer:
    """Read the state together with other statements; the answer is for `take_in`."""
    return sent.send(_STATEMENT, [cluster.pk])


def send_announcing_look(sent: Exchange, cluster: Cluster) -> Answer:
    """Announce the version of the cluster after a commit, and read the state with it.

    A failure is only logged; the answer has no rows then.
    """
    return sent.send_afterwards(_ANNOUNCING, [cluster.pk])


def take_in(answer: Answer, cluster: Cluster) -> ClusterState | None:
    """The state that was read, as `read_state` returns it."""
    if not answer.rows:
        return None
    (row,) = answer.rows
    for name, value in zip(_SETTINGS, row, strict=False):
        setattr(cluster, name, sql.load_json(value) if name in _JSON else value)
    start = len(_SETTINGS)
    return ClusterState(*row[start : start + len(fields(ClusterState))])
