"""Subresources of objects; `scale` has its own module, `status` is handled like the object."""

from __future__ import annotations

from typing import Any

from apps.api.kubernetes import params
from apps.api.kubernetes.calls import Answer, Call, success
from apps.api.kubernetes.patching import is_apply
from apps.api.kubernetes.simulating import simulated_binding
from apps.api.kubernetes.verbs import other_uid
from apps.cluster import queries
from apps.cluster.admission.policies.requests import CREATE, UPDATE, Review
from apps.cluster.errors import BadRequest
from apps.cluster.writing import store
from apps.cluster.writing.eviction import evict
from apps.cluster.writing.policies import admit_part

Body = dict[str, Any]


def evict_pod(call: Call) -> Answer:
    """POST of an Eviction."""
    eviction, warnings = call.read_request("policy", "v1", "Eviction", older=("policy/v1beta1",))
    name = (eviction.get("metadata") or {}).get("name")
    if name != call.target.name:
        raise BadRequest("name in URL does not match name in Eviction object")
    options = eviction.get("deleteOptions") or {}
    in_body = any(value == "All" for value in options.pop("dryRun", None) or ())
    eviction = review_part(call, ("policy/v1", "Eviction"), eviction)
    evict(
        call.cluster,
        call.namespace,
        name,
        actor=call.actor,
        options=options,
        dry_run=params.dry_run(call.query, call.method) or in_body,
    )
    return Answer(success(code=201), 201, warnings)


def finalize(call: Call) -> Answer:
    """PUT of a namespace; only its `spec.finalizers` are used."""
    body, warnings = call.read_object(params.write_options(call.query, call.method).validation)
    finalizers = (body.get("spec") or {}).get("finalizers") or []

    def change(old: Body) -> Body:
        return {**old, "spec": {**(old.get("spec") or {}), "finalizers": finalizers}}

    changed = store.patch(
        call.cluster,
        call.resource.kind,
        "",
        call.target.name,
        change,
        actor=call.actor,
        subresource="finalize",
        dry_run=params.dry_run(call.query, call.method),
        known_row=call.resolved.row,
    )
    return Answer(changed, 200, warnings)


def bind(call: Call) -> Answer:
    """POST of a Binding, to `pods/{name}/binding` or to `bindings`."""
    dry_run = params.dry_run(call.query, call.method)
    binding, warnings = call.read_request("", "v1", "Binding")
    metadata = binding.get("metadata") or {}
    name = call.target.name or metadata.get("name", "")
    if not name:
        raise BadRequest("metadata.name: the name of the pod to bind is required")
    if metadata.get("name", name) != name:
        raise BadRequest("name in URL does not match name in Binding object")
    if metadata.get("namespace", call.namespace) != call.namespace:
        raise BadRequest("namespace in URL does not match namespace in Binding object")
    if metadata.get("uid"):
        _check_uid(call, name, metadata["uid"])
    binding = review_part(call, ("v1", "Binding"), binding, name=name)
    store.bind(
        call.cluster,
        call.namespace,
        name,
        binding,
        actor=call.actor,
        dry_run=dry_run,
        known_row=call.resolved.row,
        labels=call.resolved.node_labels,
    )
    if dry_run:
        warnings += simulated_binding(call, name, binding)
    return Answer(success(code=201), 201, warnings)


def review_part(
    call: Call,
    shape: tuple[str, str],
    body: Body,
    old: Body | None = None,
    *,
    name: str = "",
) -> Body:
    """An object of a subresource, which is not stored, after policies and webhooks.

    `shape`: its apiVersion and kind.
    """
    metadata = {**(body.get("metadata") or {}), "namespace": call.namespace}
    request = Review(
        CREATE if old is None else UPDATE,
        call.resource.kind,
        call.actor,
        call.namespace,
        name or call.target.name,
        {**body, "apiVersion": shape[0], "kind": shape[1], "metadata": metadata},
        old,
        call.target.subresource if call.target.name else "",
        params.dry_run(call.query, call.method, apply=is_apply(call.content_type)),
        shape,
        # a Binding is also created on its own
        resource="" if call.target.name else "bindings",
    )
    return admit_part(call.cluster, request)


def _check_uid(call: Call, name: str, said: str) -> None:
    """Reject early, with the message of the API server's storage; the store checks again later."""
    if call.target.name:
        pod = call.stored()
    else:
        pod = queries.get(call.cluster, call.resource.kind, call.namespace, name)
    is_ = pod["metadata"]["uid"]
    if said != is_:
        raise other_uid(call, said, is_)
