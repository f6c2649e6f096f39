"""The verbs of every kind, except patch: get, list, create, update, delete, deletecollection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from apps.api.kubernetes import listing, params
from apps.api.kubernetes.calls import Answer, Call, success, warning
from apps.api.kubernetes.deletion import delete_options
from apps.api.kubernetes.errors import WrongMethod
from apps.api.kubernetes.exposing import drop_topology_labels
from apps.api.kubernetes.params import WriteOptions
from apps.api.kubernetes.paths import Target
from apps.api.kubernetes.repeating import find_created, uid_of_creation, with_generated_name
from apps.api.kubernetes.simulating import simulated_creation
from apps.cluster import kinds
from apps.cluster.admission.names import DRAWS, is_to_generate
from apps.cluster.custom.admission import validate_custom_object, wrong_kind
from apps.cluster.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Invalid,
    NotFound,
)
from apps.cluster.ownership.writes import Owners
from apps.cluster.quota.room import check_room
from apps.cluster.validation.causes import IMMUTABLE, invalid
from apps.cluster.warnings.objects import warnings_of, warnings_of_deletion, warnings_of_update
from apps.cluster.writes import Delete
from apps.cluster.writing import deletion, store

Body = dict[str, Any]

_DELETION: Final = ("deletionTimestamp", "deletionGracePeriodSeconds")


def get(call: Call) -> Answer:
    version = params.resource_version(call.query)
    if version and version > call.cluster.resource_version:
        raise listing.TooLargeVersion(version, call.cluster.resource_version)
    return Answer(call.stored())


def list_(call: Call) -> Answer:
    wanted = params.list_options(call.query)
    if call.target.name:
        # the deprecated watch of one object, requested as a list
        raise WrongMethod
    page = listing.text_page(call.cluster, call.resource.kind, call.target.namespace, wanted)
    return Answer({}, page=page)


def create(call: Call) -> Answer:
    options = params.write_options(call.query, call.method)
    body, warnings = call.read_object(options.validation)
    with warning(warnings):
        return _create(call, options, body, warnings)


def _create(call: Call, options: WriteOptions, body: Body, warnings: list[str]) -> Answer:
    check_creatable(call.target, body)
    if call.resource.custom is not None and body["kind"] != call.resource.kind.name:
        # not known by this name, it gets no defaults
        causes = validate_custom_object(call.resource.kind, body, None)
        raise Invalid(body["kind"], body["metadata"].get("name", ""), causes, call.resource.group)
    check_room(call.cluster.pk, call.cluster.resource_version)
    warnings += drop_topology_labels(call, body)
    try:
        created = _create_once(call, body, options.dry_run)
    except AlreadyExists:
        if call.resource.custom is not None:
            warnings += warnings_of(call.resource.kind, body)
        raise
    warnings += warnings_of(call.resource.kind, created)
    if options.dry_run and call.resource.kind is kinds.POD:
        warnings += simulated_creation(call, created)
    return Answer(without_version(created) if options.dry_run else created, 201, warnings)


def _create_once(call: Call, body: Body, dry_run: bool) -> Body:
    """The new object, or the one that the same request with this key has created before."""
    uid = "" if dry_run else uid_of_creation(call)
    if not uid:
        return _create_object(call, body, dry_run=dry_run)
    draws = DRAWS if is_to_generate(body.get("metadata") or {}) else 1
    for draw in range(draws):
        created = find_created(call, uid)
        if created is not None:
            return created
        try:
            return _create_object(call, with_generated_name(body, uid, draw), uid)
        except AlreadyExists as error:
            taken = error
    # or it was created by the same request, which was sent twice at the same time
    created = find_created(call, uid)
    if created is None:
        raise taken
    return created


def _create_object(call: Call, body: Body, uid: str = "", *, dry_run: bool = False) -> Body:
    return store.create(
        call.cluster,
        call.resource.kind,
        body,
        actor=call.actor,
        namespace=call.namespace,
        dry_run=dry_run,
        uid=uid,
    )


def update(call: Call) -> Answer:
    options = params.write_options(call.query, call.method)
    body, warnings = call.read_object(options.validation)
    with warning(warnings):
        return _update(call, options, body, warnings)


def _update(call: Call, options: WriteOptions, body: Body, warnings: list[str]) -> Answer:
    check_name(call, body)

    def change(old: Body) -> Body:
        check_same_object(call, old, body)
        _check_version_is_named(call, body)
        check_kind(call, body)
        check_times(call, old, body)
        return body

    try:
        return Answer(modify(call, change, options.dry_run, warnings), 200, warnings)
    except NotFound:
        if not call.resource.kind.creates_on_update or call.target.subresource:
            raise
    metadata = {**body["metadata"], "name": call.target.name}
    metadata.pop("resourceVersion", None)
    created = store.create(
        call.cluster,
        call.resource.kind,
        {**body, "metadata": metadata},
        actor=call.actor,
        namespace=call.namespace,
        dry_run=options.dry_run,
    )
    return Answer(without_version(created) if options.dry_run else created, 201, warnings)


def delete(call: Call) -> Answer:
    options = delete_options(call)
    resource, target = call.resource, call.target
    warnings = warnings_of_deletion(resource.kind.key, options)
    with warning(warnings):
        body = store.delete(
            call.cluster,
            resource.kind,
            call.namespace,
            target.name,
            actor=call.actor,
            options=options,
            dry_run=options["dryRun"],
            known_row=call.resolved.row,
        )
    if resource.kind.returns_deleted or _is_held(call, body, options):
        return Answer(body, warnings=warnings)
    about = {"name": target.name, "kind": resource.plural, "uid": body["metadata"]["uid"]}
    if resource.group:
        about["group"] = resource.group
    return Answer(success(about), warnings=warnings)


def delete_collection(call: Call) -> Answer:
    options = delete_options(call)
    wanted = replace(params.list_options(call.query), version=None)
    kind = call.resource.kind
    page = listing.list_page(call.cluster, kind, call.target.namespace, wanted)
    writes = [
        Delete(kind, body["metadata"].get("namespace", ""), body["metadata"]["name"], options)
        for body in page.items
    ]
    outcomes = store.write(
        call.cluster,
        writes,
        actor=call.actor,
        collect_refusals=True,
        dry_run=options["dryRun"],
    )
    deleted = []
    for body, outcome in zip(page.items, outcomes, strict=True):
        if not isinstance(outcome, ApiError):
            deleted.append(body)
        elif not isinstance(outcome, NotFound):
            raise outcome
        # objects that were deleted in the meantime need no deletion
    warnings = warnings_of_deletion(kind.key, options)
    return Answer({}, warnings=warnings, items=deleted, metadata=page.metadata())


def _is_held(call: Call, body: Body, options: Body) -> bool:
    """Whether finalizers or a grace period still hold an object after its deletion."""
    kind = call.resource.kind
    return deletion.is_held(kind, deletion.mark_deleted(kind, body, options, call.cluster.now()))


def modify(
    call: Call,
    change: Callable[[Body], Mapping[str, Any]],
    dry_run: bool,
    warnings: list[str],
    owners: Owners | None = None,
) -> Body:
    """Change the object of a call in the store; returns it as stored, and adds its warnings.

    A dry run takes no version: its object has the one before.
    """
    before: Body = {}

    def change_and_remember(old: Body) -> Mapping[str, Any]:
        nonlocal before
        before = old
        return change(old)

    body = store.patch(
        call.cluster,
        call.resource.kind,
        call.namespace,
        call.target.name,
        change_and_remember,
        actor=call.actor,
        subresource=call.target.subresource,
        dry_run=dry_run,
        owners=owners,
        known_row=call.resolved.row,
    )
    if not call.target.subresource:
        warnings += warnings_of_update(call.resource.kind, body, before)
    if not dry_run:
        return body
    version = before["metadata"]["resourceVersion"]
    return {**body, "metadata": {**body["metadata"], "resourceVersion": version}}


def check_creatable(target: Target, body: Body) -> None:
    """Raise BadRequest for an object with a version, or of another namespace than the path."""
    metadata = body.get("metadata") or {}
    if metadata.get("resourceVersion"):
        raise BadRequest("resourceVersion should not be set on objects to be created")
    _check_namespace(target, metadata)


def _check_namespace(target: Target, metadata: Body) -> None:
    namespace = target.namespace or ""
    if target.resource.namespaced and metadata.get("namespace", namespace) != namespace:
        raise BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_kind(call: Call, body: Body) -> None:
    """Raise Invalid for a custom resource of another kind; others are checked as they are read."""
    # without one, an object of a built-in kind is of the kind in the path
    resource, said = call.resource, body.get("kind", "")
    if resource.custom is not None and said != resource.kind.name:
        causes = [wrong_kind(resource.kind, said)]
        raise Invalid(said, call.target.name, causes, resource.group)


def check_name(call: Call, body: Body) -> None:
    """Raise BadRequest for an object whose name is not that of the path."""
    metadata = body.setdefault("metadata", {})
    name = metadata.get("name")
    if not name:
        raise BadRequest(
            f"the name of the object ({call.target.name} based on URL) was undeterminable: name "
            "must be provided"
        )
    if name != call.target.name:
        raise BadRequest(
            f"the name of the object ({name}) does not match the name on the URL "
            f"({call.target.name})"
        )
    _check_namespace(call.target, metadata)
    version = metadata.get("resourceVersion")
    if version and not (version.isascii() and version.isdecimal()):
        raise BadRequest(f'strconv.ParseUint: parsing "{version}": invalid syntax')


def check_same_object(call: Call, old: Body, new: Body) -> None:
    """Reject the replacement of an object by one with another uid."""
    said, is_ = new["metadata"].get("uid"), old["metadata"]["uid"]
    if said and said != is_:
        raise other_uid(call, said, is_)


def _check_version_is_named(call: Call, new: Body) -> None:
    """Reject a PUT without a version if the kind needs one."""
    if call.resource.kind.needs_version and not new["metadata"].get("resourceVersion"):
        cause = invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise Invalid(call.resource.plural, call.target.name, [cause], call.resource.group)


def check_times(call: Call, old: Body, new: Body) -> None:
    """Raise Invalid for an update that requests a deletion or another grace period."""
    before, metadata = old["metadata"], new["metadata"]
    said = {name: metadata[name] for name in _DELETION if metadata.get(name) is not None}
    if before.get("deletionTimestamp"):
        # an object that is being deleted keeps its own, whatever the update says
        said.pop("deletionTimestamp", None)
    causes = [
        invalid(f"metadata.{name}", value, IMMUTABLE)
        for name, value in said.items()
        if value != before.get(name)
    ]
    if causes:
        # the API server reports them twice, before and after the rules of the kind
        raise Invalid(call.resource.kind.name, call.target.name, causes * 2, call.resource.group)


def other_uid(call: Call, said: str, is_: str) -> Conflict:
    """The conflict that the API server's storage returns for another uid."""
    place = "/".join(filter(None, (call.resource.plural, call.namespace, call.target.name)))
    return Conflict(
        call.resource.plural,
        call.target.name,
        f"StorageError: invalid object, Code: 4, Key: /registry/{place}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {said}, UID in object "
        f"meta: {is_}",
        call.resource.group,
    )


def without_version(body: Body) -> Body:
    """The object of a dry run, which has no valid version."""
    metadata = {k: v for k, v in body["metadata"].items() if k != "resourceVersion"}
    return {**body, "metadata": metadata}
