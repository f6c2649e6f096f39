"""What a write does to an object: the rules of every way to write, without rows, locks and logs.

The store applies them to locked rows, a cluster in memory to its own objects. Both admit, validate,
ask policies, allocate, charge quotas and delete by what stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial
from typing import Any, Final, Protocol

import msgspec

from apps.cluster import kinds
from apps.cluster.access.default_policy import RBAC
from apps.cluster.access.escalation import check_grant
from apps.cluster.admission import admit, as_sent, certificates
from apps.cluster.admission.dynamic import DynamicAdmission, World
from apps.cluster.admission.limit_ranges import check_limits
from apps.cluster.admission.names import name_taken
from apps.cluster.admission.nodes import is_tainted_when_new
from apps.cluster.admission.plugins.registry import EnabledPlugins
from apps.cluster.admission.policies.requests import CREATE, DELETE, UPDATE, Review
from apps.cluster.allocation.services import SERVICE, Allocations, may_allocate
from apps.cluster.custom.admission import admit_custom, stored_form, validate_custom_object
from apps.cluster.custom.conversion import from_stored, in_api_version, may_call, to_stored
from apps.cluster.errors import (
    ApiError,
    ConversionFailed,
    Invalid,
    NotFound,
    RequestEntityTooLarge,
)
from apps.cluster.kinds import Kind
from apps.cluster.lookups import Lookups
from apps.cluster.models import Change, Cluster
from apps.cluster.ownership.managers import Manager
from apps.cluster.ownership.writes import Convert, Updating
from apps.cluster.quota.charging import QUOTA, Charges
from apps.cluster.validation import validate
from apps.cluster.writes import Actor, Admitted, Create, Delete, Update, Write, key_of
from apps.cluster.writing import deletion, mutations
from apps.cluster.writing.metadata import (
    count_generation,
    stamp_new,
    stamp_updated,
    timestamp,
)
from apps.cluster.writing.parts import BY_CONTROLLER, SPEC_PARTS
from apps.cluster.writing.preconditions import check_deletable, check_namespace, check_preconditions

Body = dict[str, Any]
#: A change of an object: its type, and the object after it.
Effect = tuple[Change.Type, Body]

_LARGEST_OBJECT: Final = 1_572_864


class AdmissionSettings(Protocol):
    """The settings of a cluster that admission depends on."""

    @property
    def admission_plugins(self) -> Mapping[str, Any]: ...
    @property
    def controllers(self) -> bool: ...
    @property
    def paused(self) -> bool: ...
    @property
    def api_gates(self) -> Sequence[str]: ...


class Moved(Exception):
    """An object has changed since webhooks were asked about its change, or they were not asked.

    Nothing has been written.
    """


def admit_new(
    kind: Kind,
    stamped: Body,
    lookups: Lookups,
    *,
    settings: AdmissionSettings,
    actor: Actor,
    decoded: bool = False,
    mutate: Mutate | None = None,
    restored: bool = False,
) -> Body:
    """A stamped new object, admitted and valid; raises the ApiError that refuses it.

    One that is `decoded` has the shape of its kind already, and is changed in place. `mutate`
    changes it before it is validated. One that is `restored` keeps its status, and its taints if
    it is a node.
    """
    plugins = EnabledPlugins(settings.admission_plugins, actor.user)
    tainted = (
        kind is kinds.NODE
        and not restored
        and is_tainted_when_new(
            stamped,
            controllers=settings.controllers,
            paused=settings.paused,
            by_client=actor.is_api_client,
        )
    )

    def admit_once(stamped: Body) -> Body:
        return admit(
            kind,
            stamped,
            lookups,
            taint_new_nodes=tainted,
            plugins=plugins,
            decoded=decoded,
            gates=settings.api_gates,
            restored=restored,
        )

    body = admit_once(stamped)
    if mutate is not None:
        body = mutate(stamped, body, admit_once)
    _check_valid(kind, body, None, settings.api_gates)
    if restored and body.get("status"):
        _check_valid(kind, body, {**body, "status": {}}, settings.api_gates, "status")
    check_limits(kind.name, body, lookups)
    plugins.validate(kind.name, body, lookups)
    return body


#: Changes an object that was sent and admitted, with the function that admits it.
Mutate = Callable[[Body, Body, Callable[[Body], Body]], Body]


@dataclass(kw_only=True)
class WriteRules:
    """The rules as of one moment, for the writes of one actor.

    All methods raise the ApiError that refuses the write.
    """

    cluster: Cluster
    actor: Actor
    now: datetime
    lookups: Lookups
    #: the policies and webhooks of the cluster, and what they reach
    dynamic: Callable[[], DynamicAdmission]
    world: World
    #: the actor with the identity that policies see
    identify: Callable[[Actor], Actor]
    dry_run: bool = False
    #: None in a cluster without quotas
    charges: Charges | None = None
    #: None in a write without new or changed services
    allocations: Allocations | None = None
    #: Rows are locked: no webhook is called.
    is_locked: bool = False
    _plugins: EnabledPlugins = field(init=False)

    def __post_init__(self) -> None:
        self._plugins = EnabledPlugins(self.cluster.admission_plugins, self.actor.user)

    def prepare(self, write: Create) -> Create:
        """The creation of the object as it is admitted and valid; depends on no other write."""
        kind = write.kind
        stamped = stamp_new(
            kind,
            write.body,
            write.namespace,
            self.now,
            self.actor.manager,
            write.uid,
            write.restored,
        )
        if write.applying is not None:
            owners = write.applying.creation_entries(timestamp(self.now))
            stamped["metadata"]["managedFields"] = owners
        check_namespace(kind, stamped, self.lookups)
        self._check_grant(kind, stamped, None)
        if kind.name == certificates.KIND:
            stamped = certificates.with_requestor(stamped, self.actor)
        mutate = partial(self._mutate_new, kind) if self.dynamic().mutates else None
        if kind.schema_name:
            body = admit_custom(kind, stamped, None)
            if mutate is not None:
                body = mutate(stamped, body, lambda stamped: admit_custom(kind, stamped, None))
            self._validate(kind, body, None)
            body = stored_form(body)
        else:
            body = admit_new(
                kind,
                stamped,
                self.lookups,
                settings=self.cluster,
                actor=self.actor,
                mutate=mutate,
                restored=write.restored,
            )
        self.review(CREATE, kind, body, None)
        namespace = body["metadata"].get("namespace", "")
        stored = to_stored(kind, body, self.world.call)
        return replace(write, body=stored, namespace=namespace, admitted=True)

    def admit_change(self, write: Update | Delete, old: Body) -> Update | Delete:
        """The change with what policies and webhooks make of it, for the object as it is now."""
        version = old["metadata"].get("resourceVersion", "")
        try:
            body = self._admitted(write, old) if isinstance(write, Update) else None
            if isinstance(write, Delete):
                self._review_deletion(write, old)
        except ApiError as refusal:
            return replace(write, admitted=Admitted(version, refusal=refusal))
        return replace(write, admitted=Admitted(version, body))

    def asks_webhooks(self, write: Update | Delete) -> bool:
        """Whether a change has to be admitted before rows are locked."""
        if self.world.call is not None and may_call(write.kind):
            return True
        if isinstance(write, Delete):
            is_asked = bool(self.actor.manager) and not write.reviewed
        else:
            # what a change reviews itself, it reviews when it is admitted
            is_asked = not write.trusted
        return is_asked and self.world.call is not None and bool(self.dynamic().webhooks)

    def create(self, write: Create, existing: Body | None) -> Body:
        """The object to store for a prepared creation; `existing` has its name."""
        key, taken = key_of(write), None
        if existing is not None:
            is_being_deleted = "deletionTimestamp" in existing["metadata"]
            metadata = write.body["metadata"]
            taken = name_taken(write.kind, metadata, is_being_deleted=is_being_deleted)
        if taken is not None and not self._names_are_last(write):
            raise taken
        body = self._allocate(write, dict(write.body), None)
        self._check_size(body)
        if self.charges is not None:
            self.charges.check(write.kind, body)
        if taken is not None:
            raise taken
        if self.charges is not None and write.kind is QUOTA:
            body = self.charges.recount(key, body)
        return body

    def change(self, write: Update | Delete, old: Body) -> list[Effect]:
        """The changes of the stored object `old`; none if it remains as it is.

        Raises Moved where rows are locked, and webhooks would have to be asked about it.
        """
        if self.is_locked and write.admitted is None and self.asks_webhooks(write):
            raise Moved
        return self._update(write, old) if isinstance(write, Update) else self._delete(write, old)

    def record(self, write: Write, old: Body | None, new: Body | None) -> None:
        """An object was created (`old` None), updated, or deleted (`new` None)."""
        if self.allocations is not None and write.kind is SERVICE:
            self.allocations.record(old, new)
        if self.charges is not None:
            self.charges.record(write.kind, old, new)
            if new is None:
                self.charges.forget(key_of(write))

    def review(
        self,
        operation: str,
        kind: Kind,
        body: Body | None,
        old: Body | None,
        part: str = "",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Ask the validating policies and webhooks of the cluster, if it has any."""
        dynamic = self.dynamic()
        if dynamic:
            request = self._request(operation, kind, body, old, part, options)
            dynamic.validate(request, self.world)

    def _request(
        self,
        operation: str,
        kind: Kind,
        body: Body | None,
        old: Body | None,
        part: str = "",
        options: Mapping[str, Any] | None = None,
    ) -> Review:
        metadata = (body or old or {})["metadata"]
        return Review(
            operation,
            kind,
            self._known_actor,
            metadata.get("namespace", ""),
            metadata.get("name", ""),
            body,
            old,
            subresource=part,
            dry_run=self.dry_run,
            options=options or {},
        )

    def _mutate(
        self, operation: str, kind: Kind, view: Body, old: Body | None, part: str = ""
    ) -> Body:
        """The object after mutating policies and webhooks, which see `view`."""
        request = self._request(operation, kind, view, old, part)
        normalize = partial(mutations.normalize, kind)
        changed = self.dynamic().mutate(request, self.world, normalize)
        assert changed is not None
        return dict(changed)

    def _mutate_new(
        self, kind: Kind, stamped: Body, admitted: Body, admit_once: Callable[[Body], Body]
    ) -> Body:
        view = mutations.view_of_new(kind, stamped, admitted)
        mutated = self._mutate(CREATE, kind, view, None)
        if mutated == view:
            return admitted
        body = admit_once(mutations.restamp(stamped, mutated))
        return mutations.keep_owners(body, view["metadata"].get("managedFields"))

    def _update(self, write: Update, old: Body) -> list[Effect]:
        kind = write.kind
        if write.uid and write.uid != old["metadata"]["uid"]:
            raise NotFound(kind.plural, write.name, kind.group)
        if write.admitted is not None:
            new = dict(_known(write.admitted, old) or {})
            new = self._allocate(write, new, old)
            new = self._recount(write, old, new)
        else:
            new = self._admitted(write, old)
        if new == old:
            return []
        if new["metadata"].get("deletionTimestamp") and not deletion.is_held(kind, new):
            return [(Change.Type.DELETED, new)]
        return [(Change.Type.MODIFIED, new)]

    def _admitted(self, write: Update, stored: Body) -> Body:
        """The stored object after an update; raises what refuses it."""
        kind, part = write.kind, write.subresource
        old = self._read(kind, stored)
        changed = write.change(old)
        new = stamp_updated(kind, old, changed, part)
        if kind.name == certificates.KIND:
            certificates.stamp_conditions(new, old, timestamp(self.now))
        if not write.trusted:
            self._check_grant(kind, new, old)
            new, owners = self._admit(write, new, old, changed)
        if part in SPEC_PARTS:
            # controllers write annotations as a part of the status
            count_generation(kind, old, new, metadata=part != BY_CONTROLLER)
        new = self._recount(write, old, new)
        if not write.trusted:
            new = self._with_owners(write, old, new, changed) if owners is None else new
            self._check_size(new)
            if not write.reviewed:
                self.review(UPDATE, kind, new, old, part)
        elif write.owners is not None:
            new = self._with_owners(write, old, new, changed)
        return to_stored(kind, new, self.world.call)

    def _convert(self, kind: Kind) -> Convert:
        return partial(in_api_version, kind, call=self.world.call)

    def _read(self, kind: Kind, stored: Body) -> Body:
        """A stored object in the version of its kind."""
        return from_stored(kind, [stored], self.world.call)[0]

    def _recount(self, write: Update, old: Body, new: Body) -> Body:
        if self.charges is None or write.kind is not QUOTA:
            return new
        return self.charges.recount_if_changed(key_of(write), old, new, write.subresource)

    def _delete(self, write: Delete, old: Body) -> list[Effect]:
        kind = write.kind
        check_deletable(kind, old)
        check_preconditions(kind, old, write.options.get("preconditions") or {})
        if write.admitted is not None:
            _known(write.admitted, old)
        else:
            self._review_deletion(write, old)
        new = deletion.mark_deleted(kind, old, write.options, self.now)
        if deletion.is_held(kind, new):
            return [] if new == old else [(Change.Type.MODIFIED, new)]
        if kind is kinds.POD and new != old:
            # a pod's end is a separate change, which watches see before the deletion
            return [(Change.Type.MODIFIED, new), (Change.Type.DELETED, dict(new))]
        return [(Change.Type.DELETED, dict(old))]

    def _review_deletion(self, write: Delete, old: Body) -> None:
        """Policies and webhooks are asked about the deletions of clients alone."""
        dynamic = self.dynamic()
        if not dynamic or not self.actor.manager or write.reviewed:
            return
        before = self._read(write.kind, old)
        request = self._request(DELETE, write.kind, None, before, options=write.options)
        dynamic.mutate(request, self.world, dict)
        dynamic.validate(request, self.world)

    def _check_grant(self, kind: Kind, new: Body, old: Body | None) -> None:
        """Refuse roles and bindings with which a user would give more than they have."""
        if kind.group == RBAC and self.actor.manager:
            assert self._known_actor.identity is not None
            check_grant(self._known_actor.identity, new, old)

    @cached_property
    def _known_actor(self) -> Actor:
        """The actor with its identity, which pages and operations do not say."""
        return self.actor if self.actor.identity is not None else self.identify(self.actor)

    def _admit(
        self, write: Update, new: Body, old: Body, changed: Mapping[str, Any]
    ) -> tuple[Body, list[Body] | None]:
        """The admitted object, and its owners if they were written before mutations."""
        kind, part = write.kind, write.subresource
        new, owners = self._admit_once(write, new, old), None
        if self.dynamic().mutates and not write.reviewed:
            new, owners = self._mutate_update(write, new, old, changed)
        self._validate(kind, new, old, part)
        if kind.schema_name:
            new = stored_form(new)
        if not part and not kind.schema_name:
            self._plugins.validate(kind.name, new, self.lookups, old)
        return self._allocate(write, new, old), owners

    def _admit_once(self, write: Update, new: Body, old: Body) -> Body:
        if write.kind.schema_name:
            return admit_custom(write.kind, new, old)
        return admit(
            write.kind,
            new,
            self.lookups,
            old=old,
            subresource=write.subresource,
            plugins=self._plugins,
            gates=self.cluster.api_gates,
        )

    def _mutate_update(
        self, write: Update, new: Body, old: Body, changed: Mapping[str, Any]
    ) -> tuple[Body, list[Body] | None]:
        """The object after mutations, which change no owners."""
        kind, part = write.kind, write.subresource
        owned = self._with_owners(write, old, new, changed)
        view = mutations.view_of_update(kind, changed, owned, part)
        mutated = self._mutate(UPDATE, kind, view, old, part)
        if mutated == view:
            return new, None
        owners = view["metadata"].get("managedFields") or []
        wanted = mutations.keep_owners(mutated, owners)["metadata"].get("managedFields")
        body = self._admit_once(write, stamp_updated(kind, old, mutated, part), old)
        metadata = {k: v for k, v in body["metadata"].items() if k != "managedFields"}
        if wanted:
            metadata["managedFields"] = wanted
        return {**body, "metadata": metadata}, owners

    def _validate(self, kind: Kind, body: Body, old: Body | None, subresource: str = "") -> None:
        _check_valid(kind, body, old, self.cluster.api_gates, subresource)

    def _names_are_last(self, write: Create) -> bool:
        """Whether the name is looked up after addresses, ports and quotas, as the API server does.

        An import, an apply and a repeated request have to learn that the object exists.
        """
        return self.actor.is_api_client and not write.uid and write.applying is None

    def _allocate(self, write: Write, body: Body, old: Body | None) -> Body:
        """The object with the addresses and ports that services share."""
        if self.allocations is None or not may_allocate(write):
            return body
        return self.allocations.allocate(body, old)

    def _check_size(self, body: Body) -> None:
        """Reject an object of a client that the API server's storage would not accept."""
        if self.actor.manager and len(msgspec.json.encode(body)) > _LARGEST_OBJECT:
            raise RequestEntityTooLarge(
                f"Request entity too large: an object may have {_LARGEST_OBJECT} bytes"
            )

    def _with_owners(self, write: Update, old: Body, new: Body, changed: Mapping[str, Any]) -> Body:
        """`new` with the owners of its fields after a client's write."""
        if not self.actor.manager:
            return new
        kind = write.kind
        manager = Manager(self.actor.manager, "Update", kind.api_version, write.subresource)
        owners = write.owners or Updating(kind, manager, self._convert(kind))
        given = (changed.get("metadata") or {}).get("managedFields")
        sent = new if kind.schema_name else as_sent(kind, changed)
        try:
            entries = owners.entries(old, sent, given, timestamp(self.now))
        except ConversionFailed:
            # as in the API server, a write does not fail because owners cannot be compared
            entries = []
        metadata = {k: v for k, v in new["metadata"].items() if k != "managedFields"}
        return {**new, "metadata": {**metadata, "managedFields": entries} if entries else metadata}


def _known(admitted: Admitted, old: Body) -> Body | None:
    """What was admitted; Moved if it was for another version of the object."""
    if admitted.version != old["metadata"].get("resourceVersion", ""):
        raise Moved
    if admitted.refusal is not None:
        raise admitted.refusal
    return admitted.body


def _check_valid(
    kind: Kind, body: Body, old: Body | None, gates: Sequence[str], subresource: str = ""
) -> None:
    if kind.schema_name:
        causes = validate_custom_object(kind, body, old)
    else:
        causes = validate(kind, body, old, subresource=subresource, gates=gates)
    if causes:
        raise Invalid(kind.name, body["metadata"].get("name", ""), causes, kind.group)
