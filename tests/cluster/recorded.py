"""Replays the steps of recorded API exchanges that create one object, without a server."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from apps.cluster import admission, kinds, validation
from apps.cluster.errors import AlreadyExists, ApiError, Cause, Invalid
from apps.cluster.system_classes import system_class

DATA = Path(__file__).parent / "data"
GROUPS = {
    "PriorityClass": "scheduling.k8s.io",
    "RuntimeClass": "node.k8s.io",
    "StorageClass": "storage.k8s.io",
    "CSINode": "storage.k8s.io",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
    "PodDisruptionBudget": "policy",
    "Lease": "coordination.k8s.io",
}
EVENT_FIELDS = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
}


def admit(kind: str, *args: Any, **options: Any) -> dict[str, Any]:
    """`admission.admit` for the kind of a name."""
    return admission.admit(kinds.by_name(kind), *args, **options)


def validate(kind: str, *args: Any, **options: Any) -> list[Cause]:
    """`validation.validate` for the kind of a name."""
    return validation.validate(kinds.by_name(kind), *args, **options)


def steps(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text().splitlines()]


class Cluster:
    """Objects by kind and name, for lookups of admission and for existing objects."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], dict[str, Any]] = {}

    def post(self, body: dict[str, Any], namespace: str) -> dict[str, Any]:
        """Create an object like the store; raises an ApiError if it is refused."""
        kind = body.get("kind", "Pod")
        metadata = {**body.get("metadata", {}), "creationTimestamp": "2026-01-02T03:04:05Z"}
        if namespace:
            metadata["namespace"] = namespace
        given = {"apiVersion": "v1", **body, "metadata": metadata}
        if kind == "Event":
            given = {EVENT_FIELDS.get(name, name): value for name, value in given.items()}
            given["apiVersion"] = "v1"
        admitted = admit(kind, given, self, taint_new_nodes=True)
        causes = validate(kind, admitted)
        name = admitted["metadata"].get("name", "")
        if causes:
            raise Invalid(kind, name, causes, GROUPS.get(kind, ""))
        if (kind, name) in self.objects:
            raise AlreadyExists(f"{kind.lower()}s", name)
        self.objects[kind, name] = admitted
        return admitted

    def namespace(self, name: str) -> dict[str, Any] | None:
        return {"metadata": {"name": name}}

    def priority_class(self, name: str) -> dict[str, Any] | None:
        return self.objects.get(("PriorityClass", name)) or system_class(name)

    def default_priority_class(self) -> dict[str, Any] | None:
        return self._find_default("PriorityClass", lambda body: body.get("globalDefault"))

    def runtime_class(self, name: str) -> dict[str, Any] | None:
        return self.objects.get(("RuntimeClass", name))

    def workload(self, namespace: str, name: str) -> dict[str, Any] | None:
        return None

    def limit_ranges(self, namespace: str) -> list[dict[str, Any]]:
        return []

    def default_storage_class(self) -> dict[str, Any] | None:
        annotation = "storageclass.kubernetes.io/is-default-class"
        return self._find_default(
            "StorageClass", lambda body: body["metadata"].get("annotations", {}).get(annotation)
        )

    def _find_default(self, kind: str, is_marked: Any) -> dict[str, Any] | None:
        found = [body for (its, _), body in self.objects.items() if its == kind]
        return next(filter(is_marked, found), None)


def replay(name: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """(recorded step, {"status", "body"} we answer) for every POST of an object."""
    cluster, answers = Cluster(), []
    for step in steps(name):
        path = step["path"].partition("?")[0]
        if step["method"] == "DELETE":
            names = {"priorityclasses": "PriorityClass", "runtimeclasses": "RuntimeClass"}
            *_, plural, object_name = path.split("/")
            cluster.objects.pop((names.get(plural, plural), object_name), None)
        if step["method"] != "POST" or not isinstance(step.get("body"), dict):
            continue
        namespace = path.split("/namespaces/")[1].split("/")[0] if "/namespaces/" in path else ""
        try:
            answer = {"status": 201, "body": cluster.post(step["body"], namespace)}
        except ApiError as refusal:
            answer = {"status": refusal.code, "body": refusal.status()}
        answers.append((step, answer))
    return answers


def replay_updates(name: str) -> list[tuple[dict[str, Any], list[dict[str, str]]]]:
    """(recorded step, causes we give) for updates that succeeded or were invalid."""
    cluster, objects, answers = Cluster(), {}, []
    for step in steps(name):
        *_, plural, last = step["path"].split("/")
        if step["method"] == "POST" and last != "binding":
            namespace = "default" if "/namespaces/" in step["path"] else ""
            body = step["body"]
            objects[last, body["metadata"]["name"]] = cluster.post(body, namespace)
        if step["method"] in ("PUT", "PATCH") and step["expect"]["status"] in (200, 422):
            old = objects[plural, last]
            new = _update(cluster, step, old)
            causes = validate(old["kind"], new, old)
            answers.append((step, [asdict(cause) for cause in causes]))
            if not causes:
                objects[plural, last] = new
    return answers


def _update(cluster: Cluster, step: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """The object that the store validates: the new one with the old status."""
    change = step["body"]
    if isinstance(change, list):
        change = _patched_gates(old, change[0])
    body = _merge(old, change) if step["method"] == "PATCH" else change
    kept = {name: old[name] for name in ("apiVersion", "status") if name in old}
    metadata = {
        **body["metadata"],
        **{k: v for k, v in old["metadata"].items() if k == "namespace"},
    }
    return admit(old["kind"], {**body, **kept, "metadata": metadata}, cluster, old=old)


def _patched_gates(old: dict[str, Any], operation: dict[str, Any]) -> dict[str, Any]:
    gates = list(old["spec"]["schedulingGates"])
    if operation["op"] == "remove":
        gates.pop(int(operation["path"].rsplit("/", 1)[1]))
    else:
        gates.append(operation["value"])
    return {"spec": {"schedulingGates": gates}}


def _merge(old: Any, patch: Any) -> Any:
    """Apply a JSON merge patch."""
    if not isinstance(patch, dict):
        return patch
    base = dict(old) if isinstance(old, dict) else {}
    for name, value in patch.items():
        if value is None:
            base.pop(name, None)
        else:
            base[name] = _merge(base.get(name), value)
    return base
