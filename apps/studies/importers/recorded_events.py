"""What recordings consist of: the states of objects, with their times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.admission.draft import draft_of
from apps.cluster.errors import BadRequest
from apps.cluster.kinds import Kind
from apps.cluster.writes import Write
from apps.engine.loop.informer import WATCHED
from apps.studies.importers.source_files import Place, get_object, get_text

Body = dict[str, Any]
#: kind, namespace ("" for cluster-scoped), name
Key = tuple[str, str, str]

#: Fields of metadata that belong to the cluster that was recorded.
_OWN: Final = frozenset(
    {"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink"}
)
_REPLAYED: Final = frozenset(kind.name for kind in WATCHED)


@dataclass(frozen=True, slots=True)
class TimedWrite:
    """Writes at a time, in seconds since the start of the workload."""

    at: float
    writes: list[Write]
    #: where the file says so; "" if errors of the writes name it themselves
    place: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """An object had this state from a time on, or was deleted (`body` None)."""

    #: seconds since the start of the recording
    at: float
    kind: Kind
    namespace: str
    name: str
    body: Body | None
    place: Place

    @property
    def key(self) -> Key:
        return self.kind.name, self.namespace, self.name


def read_event(at: float, body: Body, place: Place, *, deleted: bool = False) -> Event | None:
    """The event of one object; None for kinds that have no effect in a scenario."""
    api_version, name = get_text(body, "apiVersion", place), get_text(body, "kind", place)
    metadata = get_object(body, "metadata", place)
    own = get_text(metadata, "name", place.at("metadata"))
    try:
        kind = kinds.by_api_version(api_version, name)
    except KeyError:
        return None
    if not has_effect(kind):
        return None
    namespace = str(metadata.get("namespace") or "default") if kind.namespaced else ""
    return Event(at, kind, namespace, own, None if deleted else _shaped(kind, body, place), place)


def has_effect(kind: Kind) -> bool:
    """Whether objects of a kind matter to scheduler and controllers."""
    return kind.name in _REPLAYED


def _shaped(kind: Kind, body: Body, place: Place) -> Body:
    """The object without nulls and unknown fields; BadRequest if a field has a wrong type."""
    try:
        draft = draft_of(kind.name, body)
    except BadRequest as error:
        raise place.error(error.message) from error
    if kind is kinds.POD:
        get_object(draft, "spec", place)
    return draft


def without_own(body: Any, place: Place) -> Body:
    """An object without what belongs to the cluster it was read from; its owners stay behind."""
    if not isinstance(body, dict) or not isinstance(body.get("metadata"), dict):
        raise place.error("an object has no metadata")
    left = {*_OWN, "ownerReferences"}
    metadata = {key: value for key, value in body["metadata"].items() if key not in left}
    return {**body, "metadata": metadata}
