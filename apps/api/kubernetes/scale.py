"""The subresource `scale`: the replicas of a workload of any kind."""

from __future__ import annotations

from typing import Any

from apps.api.kubernetes import params
from apps.api.kubernetes.calls import Answer, Call
from apps.api.kubernetes.patching import read_patch
from apps.api.kubernetes.subresources import review_part
from apps.cluster.custom import paths
from apps.cluster.errors import BadRequest, Cause, Invalid
from apps.cluster.schema import ShapeError, decode, definition_of
from apps.cluster.writing import store

Body = dict[str, Any]

_DEFINITION = definition_of("autoscaling", "v1", "Scale")
_BUILT_IN = (".spec.replicas", ".status.replicas", ".spec.selector")
_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def get(call: Call) -> Answer:
    return Answer(_scale(call, call.stored()))


def update(call: Call) -> Answer:
    scale, warnings = call.read_request("autoscaling", "v1", "Scale")
    return _write(call, lambda old: scale, warnings)


def patch(call: Call) -> Answer:
    apply = read_patch(call.raw, call.content_type, _DEFINITION)

    def change(old: Body) -> Body:
        try:
            return decode(_DEFINITION, apply(old)).body
        except ShapeError as error:
            raise BadRequest(error.message) from error

    return _write(call, change, [])


def _write(call: Call, change: Any, warnings: list[str]) -> Answer:
    def set_replicas(workload: Body) -> Body:
        current = _scale(call, workload)
        wanted = change(current)
        metadata = wanted.get("metadata") or {}
        if metadata.get("name", call.target.name) != call.target.name:
            raise BadRequest(
                f"the name of the object ({metadata['name']}) does not match the name on the URL "
                f"({call.target.name})"
            )
        version = metadata.get("resourceVersion") or workload["metadata"]["resourceVersion"]
        scaled = {
            **workload,
            "metadata": {**workload["metadata"], "resourceVersion": version},
        }
        replicas_path = _paths(call)[0]
        _replicas(call, wanted)
        wanted = review_part(call, ("autoscaling/v1", "Scale"), wanted, current)
        return paths.assign(scaled, replicas_path, _replicas(call, wanted))

    body = store.patch(
        call.cluster,
        call.resource.kind,
        call.namespace,
        call.target.name,
        set_replicas,
        actor=call.actor,
        dry_run=params.dry_run(call.query, call.method),
        found=call.found.row,
        reviewed=True,
    )
    return Answer(_scale(call, body), 200, warnings)


def _replicas(call: Call, scale: Body) -> int:
    replicas: int = (scale.get("spec") or {}).get("replicas", 0)
    if replicas < 0:
        cause = Cause(
            "FieldValueInvalid",
            f"Invalid value: {replicas}: must be greater than or equal to 0",
            "spec.replicas",
        )
        raise Invalid("Scale", call.target.name, [cause], "autoscaling")
    return replicas


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
