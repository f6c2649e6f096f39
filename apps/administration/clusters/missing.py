"""What imported objects refer to and neither the text nor the cluster has.

`kubectl get all,nodes -A -o yaml` writes neither namespaces nor priority classes, without which the
API server refuses the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.cluster.manifests.places import ManifestError, Part, Place
from apps.cluster.manifests.reading import Numbered
from apps.cluster.models import Cluster
from apps.cluster.system_classes import SYSTEM_CLASSES
from apps.controllers.accounts import ACCOUNT

Body = dict[str, Any]
#: kind, namespace ("" for cluster-scoped), name
Named = tuple[str, str, str]

_CLASS: Final = "PriorityClass"
_RUNTIME: Final = "RuntimeClass"
_ACCOUNT: Final = "ServiceAccount"
#: Added objects are in no text.
_ADDED: Final = Place("added", 1, Part(""))


@dataclass(slots=True)
class Missing:
    """The missing objects by what is known of them, and the first place that refers to each."""

    bodies: dict[Named, Body] = field(default_factory=dict)
    places: dict[Named, Place] = field(default_factory=dict)

    def objects(self) -> list[Numbered]:
        """The objects to create."""
        return [
            (replace(_ADDED, file=f"added {kind} {name}"), kinds.by_name(kind), body)
            for (kind, _, name), body in self.bodies.items()
        ]

    def errors(self) -> list[ManifestError]:
        """An error for each."""
        return [
            ManifestError(f"{each[0]} {_path(each)} does not exist", self.places[each])
            for each in self.bodies
        ]

    def describe(self) -> str:
        """A sentence about what is added; "" if nothing is missing."""
        if not self.bodies:
            return ""
        names: dict[str, list[str]] = {}
        for each in self.bodies:
            names.setdefault(each[0], []).append(_path(each))
        listed = "; ".join(f"{kind} {', '.join(each)}" for kind, each in names.items())
        return f"added, because objects refer to them: {listed}"


def find_missing(cluster: Cluster, numbered: Sequence[Numbered]) -> Missing:
    """What the objects refer to and does not exist.

    A priority class gets the value that pods of it have, a runtime class their overhead. A value
    that no pod says is 0.
    """
    present = {
        (kind.name, _namespace(kind, body), str(body["metadata"].get("name")))
        for _, kind, body in numbered
    }
    missing = Missing()
    unseen: dict[Named, bool] = {}
    for place, kind, body in numbered:
        for named, known in _references(kind, body):
            if named in present:
                continue
            if named not in unseen:
                unseen[named] = not _exists(cluster, named)
            if unseen[named]:
                missing_body = missing.bodies.setdefault(named, _body(named))
                missing.places.setdefault(named, place)
                missing_body.update(known)
    return missing


def _references(kind: Kind, body: Body) -> Iterator[tuple[Named, Body]]:
    """What an object refers to, and what it tells about that."""
    namespace = _namespace(kind, body)
    if namespace:
        yield ("Namespace", "", namespace), {}
    spec = _pod_spec(kind, body)
    if name := _text(spec, "priorityClassName"):
        value = spec.get("priority")
        known: Body = {"value": value} if isinstance(value, int) else {}
        if policy := spec.get("preemptionPolicy"):
            known["preemptionPolicy"] = policy
        yield (_CLASS, "", name), known
    if name := _text(spec, "runtimeClassName"):
        overhead = spec.get("overhead")
        yield (_RUNTIME, "", name), {"overhead": {"podFixed": overhead}} if overhead else {}
    if name := _text(spec, "serviceAccountName"):
        yield (_ACCOUNT, namespace, name), {}


def _pod_spec(kind: Kind, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The spec of the pod, or of the pods of a workload; empty for other kinds."""
    spec = body.get("spec")
    if not isinstance(spec, Mapping):
        return {}
    if kind is kinds.POD:
        return spec
    if kind.name == "CronJob":
        return _pod_spec(kinds.by_name("Job"), spec.get("jobTemplate") or {})
    template = spec.get("template") if kind.manages_pods else None
    template_spec = template.get("spec") if isinstance(template, Mapping) else None
    return template_spec if isinstance(template_spec, Mapping) else {}


def _text(spec: Mapping[str, Any], name: str) -> str:
    value = spec.get(name)
    return value if isinstance(value, str) else ""


def _namespace(kind: Kind, body: Body) -> str:
    return str(body["metadata"].get("namespace") or "default") if kind.namespaced else ""


def _exists(cluster: Cluster, named: Named) -> bool:
    kind, namespace, name = named
    if (kind == _CLASS and name in SYSTEM_CLASSES) or (kind == _ACCOUNT and name == ACCOUNT):
        return True
    rows = kinds.by_name(kind).objects(cluster)
    return rows.filter(namespace=namespace, name=name).exists()


def _body(named: Named) -> Body:
    kind, namespace, name = named
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    body: Body = {"apiVersion": kinds.by_name(kind).api_version, "kind": kind, "metadata": metadata}
    if kind == _CLASS:
        body["value"] = 0
    if kind == _RUNTIME:
        body["handler"] = name
    return body


def _path(named: Named) -> str:
    return "/".join(filter(None, named[1:]))
