"""The subresource `scale`: the replicas of a workload of any kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apps.api.kubernetes import params
from apps.api.kubernetes.calls import Answer, Call
from apps.api.kubernetes.patches import decode_patched
from apps.api.kubernetes.patching import is_apply, read_patch
from apps.api.kubernetes.subresources import review_part
from apps.api.kubernetes.verbs import check_name, check_same_object
from apps.cluster.custom import paths
from apps.cluster.errors import BadRequest, Invalid
from apps.cluster.ownership.managers import Manager, Operation
from apps.cluster.ownership.writes import Scaling
from apps.cluster.schema import definition_of
from apps.cluster.validation import names
from apps.cluster.validation.causes import invalid
from apps.cluster.warnings.objects import warnings_of_update
from apps.cluster.writing import store

Body = dict[str, Any]

_DEFINITION = definition_of("autoscaling", "v1", "Scale")
_BUILT_IN = (".spec.replicas", ".status.replicas", ".spec.selector")
_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def get(call: Call) -> Answer:
    wanted, _, _ = _paths(call)
    if call.resource.custom is not None and not paths.find(call.stored(), wanted):
        raise BadRequest(f'the spec replicas field "{wanted}" does not exist')
    return Answer(_scale(call, call.stored()))


def update(call: Call) -> Answer:
    scale, warnings = call.read_request("autoscaling", "v1", "Scale")
    options = params.write_options(call.query, call.method)
    return _write(call, lambda old: scale, warnings, options, "Update")


def patch(call: Call) -> Answer:
    apply = read_patch(call.raw, call.content_type, _DEFINITION)
    applies = is_apply(call.content_type)
    options = params.write_options(call.query, call.method, apply=applies)
    warnings: list[str] = []

    def change(old: Body) -> Body:
        scale, warnings[:] = decode_patched(call, apply(old), _DEFINITION, options)
        return scale

    return _write(call, change, warnings, options, "Apply" if applies else "Update")


def _write(
    call: Call,
    change: Callable[[Body], Body],
    warnings: list[str],
    options: params.WriteOptions,
    operation: Operation,
) -> Answer:
    wanted, _, _ = _paths(call)

    before: Body = {}

    def set_replicas(workload: Body) -> Body:
        nonlocal before
        before = workload
        current = _scale(call, workload)
        scale = change(current)
        asked = (scale.get("spec") or {}).get("replicas", 0)
        # as in the API server, before anything else is checked
        owners.check(workload, paths.assign(workload, wanted, asked))
        check_name(call, scale)
        check_same_object(call, workload, scale)
        metadata = scale["metadata"]
        version = metadata.get("resourceVersion") or workload["metadata"]["resourceVersion"]
        scaled = {
            **workload,
            "metadata": {**workload["metadata"], "resourceVersion": version},
        }
        _replicas(call, scale)
        scale = review_part(call, ("autoscaling/v1", "Scale"), scale, current)
        return paths.assign(scaled, wanted, _replicas(call, scale))

    kind = call.resource.kind
    manager = Manager(call.actor.manager, operation, call.resource.api_version, "scale")
    path = tuple(f"f:{name}" for name in wanted.strip(".").split("."))
    owners = Scaling(kind, manager, path, force=options.force)
    body = store.patch(
        call.cluster,
        kind,
        call.namespace,
        call.target.name,
        set_replicas,
        actor=call.actor,
        dry_run=options.dry_run,
        owners=owners,
        known_row=call.resolved.row,
        reviewed=True,
    )
    warnings += warnings_of_update(kind, body, before)
    return Answer(_scale(call, body), 200, warnings)


def _replicas(call: Call, scale: Body) -> int:
    replicas: int = (scale.get("spec") or {}).get("replicas", 0)
    if replicas >= 0:
        return replicas
    kind, (path, _, _) = call.resource.kind, _paths(call)
    if call.resource.custom is not None:
        cause = invalid(path, replicas, "should be a non-negative integer")
        raise Invalid(kind.name, call.target.name, [cause], kind.group)
    cause = invalid("spec.replicas", replicas, names.NOT_NEGATIVE)
    raise Invalid("Scale", call.target.name, [cause], "autoscaling")


def _paths(call: Call) -> tuple[str, str, str]:
    """The paths of the replicas in spec and in status, and of the selector."""
    custom = call.resource.custom
    return _BUILT_IN if custom is None or custom.scale is None else custom.scale


def _scale(call: Call, workload: Body) -> Body:
    wanted, current, selected = _paths(call)
    replicas = next(iter(paths.find(workload, wanted)), 0)
    selector = next(iter(paths.find(workload, selected)), None) if selected else None
    metadata = workload["metadata"]
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in _KEPT if name in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {
            "replicas": next(iter(paths.find(workload, current)), 0),
            **_selector(selector),
        },
    }


def _selector(selector: Any) -> Body:
    """The selector as text, in the field `selector`; that of a custom resource is text."""
    if isinstance(selector, str) and selector:
        return {"selector": selector}
    if not isinstance(selector, dict):
        return {}
    structured = "matchLabels" in selector or "matchExpressions" in selector
    labels = selector.get("matchLabels") or {} if structured else selector
    terms = [f"{key}={value}" for key, value in sorted(labels.items())]
    for term in (selector.get("matchExpressions") or []) if structured else []:
        terms.append(_expression(term))
    return {"selector": ",".join(terms)} if terms else {}


def _expression(term: Body) -> str:
    key, values = term["key"], ",".join(term.get("values") or [])
    words = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}
    return str(words.get(term["operator"], f"!{key}"))
