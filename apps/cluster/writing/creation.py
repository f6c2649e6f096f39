"""One object on its way into the database: admitted, validated and encoded once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from apps.cluster import kinds
from apps.cluster.admission import certificates
from apps.cluster.admission.defaulting import default_metadata
from apps.cluster.admission.names import generate_name, is_to_generate
from apps.cluster.allocation.services import SERVICE
from apps.cluster.custom.versions import DEFINITION
from apps.cluster.errors import Invalid
from apps.cluster.kinds import Kind
from apps.cluster.ownership.creation import metadata_fields, set_fields
from apps.cluster.quota.charging import QUOTA
from apps.cluster.validation.metadata import validate_metadata
from apps.cluster.warnings.objects import warnings_of
from apps.cluster.warnings.pods import may_warn_about
from apps.cluster.writes import Actor
from apps.cluster.writing.admitted_specs import (
    AdmittedSpec,
    AdmittedSpecs,
    key_of,
    key_of_text,
)
from apps.cluster.writing.memory import AdmissionState
from apps.cluster.writing.metadata import stamp_new
from apps.cluster.writing.preconditions import check_namespace
from apps.cluster.writing.rules import admit_new
from apps.cluster.writing.sent_pods import SentPod

Body = dict[str, Any]

#: The members before all others in the JSON text.
_FIRST: Final = ("kind", "apiVersion", "metadata")


@dataclass(frozen=True, slots=True)
class Creation:
    """One object, admitted and validated, in the pieces that the statement takes."""

    kind: Kind
    actor: Actor
    #: The object as it will be stored, without its resourceVersion; it may share its spec.
    body: Body
    #: The object's JSON text before and after the digits of its resourceVersion.
    head: bytes
    tail: bytes
    #: The columns in which queries find objects of this kind; JSON as text.
    columns: Mapping[str, Any]
    #: When it was stamped, by the cluster's clock.
    at: datetime
    #: False for a pod whose spec has no warnings; its metadata may have some.
    has_warnings: bool = True
    #: The server has drawn its name.
    is_named_here: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        metadata = self.body["metadata"]
        return metadata.get("namespace", ""), metadata["name"]

    @property
    def uid(self) -> str:
        uid: str = self.body["metadata"]["uid"]
        return uid

    @property
    def warnings(self) -> list[str]:
        """The warnings that the response contains."""
        if self.has_warnings or may_warn_about(self.body["metadata"]):
            return warnings_of(self.kind, self.body)
        return []

    @property
    def labels(self) -> bytes:
        """The object's labels as JSON text."""
        labels = self.body["metadata"].get("labels")
        return msgspec.json.encode(labels) if labels else b"{}"

    def text(self, version: int) -> bytes:
        """The object as it is stored at this version, as JSON."""
        return b"%b%d%b" % (self.head, version, self.tail)


def is_row_only(kind: Kind) -> bool:
    """Whether objects of this kind can be created by the statement of this module.

    The creation of others depends on those that are looked up, on quotas and on the addresses of
    other services; a request for a certificate contains the groups of its user; a definition is
    served after it was written.
    """
    is_joint = kind.is_looked_up or kind in (QUOTA, SERVICE, DEFINITION)
    return not (is_joint or kind.name == certificates.KIND)


def prepare(
    kind: Kind,
    body: Body,
    namespace: str,
    *,
    state: AdmissionState,
    actor: Actor,
    specs: AdmittedSpecs,
) -> Creation:
    """Stamp, admit and validate a new object; raises the ApiError that refuses it.

    `body` has the shape of its kind, and is used up: it is changed in place. `specs` are those of
    the pods before.
    """
    now = state.now()
    stamped = stamp_new(kind, body, namespace, now, actor.manager)
    check_namespace(kind, stamped, state)
    key = key_of(stamped, state, actor.user) if kind is kinds.POD else None
    if key is None:
        return _admit(kind, stamped, state, actor, now)
    known = specs.find(key)
    if known is not None:
        return _admit_metadata(stamped, known, actor, now)
    creation = _admit(kind, stamped, state, actor, now)
    specs.add(key, _shared_part(creation))
    return creation


def prepare_known(
    pod: SentPod,
    namespace: str,
    *,
    state: AdmissionState,
    actor: Actor,
    specs: AdmittedSpecs,
) -> Creation | None:
    """The same for a pod whose spec was admitted before; None for any other pod."""
    now = state.now()
    stamped = stamp_new(kinds.POD, {"metadata": pod.metadata}, namespace, now, actor.manager)
    known = specs.find(key_of_text(pod.spec, stamped["metadata"], state, actor.user))
    if known is None:
        return None
    check_namespace(kinds.POD, stamped, state)
    return _admit_metadata(stamped, known, actor, now)


def _admit(
    kind: Kind, stamped: Body, state: AdmissionState, actor: Actor, now: datetime
) -> Creation:
    is_named_here = is_to_generate(stamped["metadata"])
    admitted = admit_new(kind, stamped, state, settings=state, actor=actor, decoded=True)
    head, tail = _encode(admitted)
    columns = _columns(kind, admitted)
    return Creation(kind, actor, admitted, head, tail, columns, now, is_named_here=is_named_here)


def _admit_metadata(stamped: Body, known: AdmittedSpec, actor: Actor, now: datetime) -> Creation:
    """A pod whose spec was admitted before: what depends on its metadata."""
    metadata = stamped["metadata"]
    is_named_here = generate_name(metadata)
    default_metadata(metadata)
    if "managedFields" in metadata:
        set_fields(metadata, {**metadata_fields(metadata), **known.fields})
    causes = list(validate_metadata(kinds.POD, metadata))
    if causes:
        raise Invalid(kinds.POD.name, metadata.get("name", ""), causes)
    body = {**stamped, "spec": known.spec, "status": known.status}
    tail = b'",%b,%b' % (msgspec.json.encode(metadata)[1:], known.text)
    head = _head(body)
    return Creation(
        kinds.POD,
        actor,
        body,
        head,
        tail,
        known.columns,
        now,
        has_warnings=known.has_warnings,
        is_named_here=is_named_here,
    )


def _shared_part(pod: Creation) -> AdmittedSpec:
    spec, status = pod.body["spec"], pod.body["status"]
    plain = {"metadata": {"name": "a"}, "spec": spec}
    return AdmittedSpec(
        spec,
        status,
        msgspec.json.encode({"spec": spec, "status": status})[1:],
        pod.columns,
        _owned_part(pod.body["metadata"]),
        has_warnings=bool(warnings_of(pod.kind, plain)),
    )


def _owned_part(metadata: Body) -> Body:
    """What the creator of a pod owns beside its metadata."""
    entries = metadata.get("managedFields") or [{"fieldsV1": {}}]
    return {name: each for name, each in entries[0]["fieldsV1"].items() if name != "f:metadata"}


def _columns(kind: Kind, body: Body) -> dict[str, Any]:
    columns = {name: read(body) for name, read in kind.model.projected.items()}
    return {
        name: msgspec.json.encode(value) if isinstance(value, dict | list) else value
        for name, value in columns.items()
    }


def _encode(body: Body) -> tuple[bytes, bytes]:
    """The JSON text of an object, parted where its resourceVersion belongs."""
    metadata = msgspec.json.encode(body["metadata"])
    rest = {name: value for name, value in body.items() if name not in _FIRST}
    if not rest:
        return _head(body), b'",%b}' % metadata[1:]
    return _head(body), b'",%b,%b' % (metadata[1:], msgspec.json.encode(rest)[1:])


def _head(body: Body) -> bytes:
    return b'{"kind":"%b","apiVersion":"%b","metadata":{"resourceVersion":"' % (
        body["kind"].encode(),
        body["apiVersion"].encode(),
    )
