"""The recipes of actions and forms, with the values that were entered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apps.administration.clusters.bulk import ACTIONS, WITH_TEXT, BulkAction, Resource, count
from apps.cluster.errors import BadRequest
from apps.cluster.kinds import Kind
from apps.dashboard.forms.manifest import dump_yaml
from apps.dashboard.recipes.lists import object_path
from apps.dashboard.recipes.recipe import Recipe

Body = Mapping[str, Any]


def create_recipes(cluster: str, kind: Kind, bodies: Sequence[Body]) -> list[Recipe]:
    """Create these objects: one at a time, or all of them from one YAML stream."""
    complete = [{"apiVersion": kind.api_version, "kind": kind.name, **body} for body in bodies]
    if len(complete) > 1:
        text = "---\n".join(dump_yaml(body) for body in complete)
        return [import_recipe(cluster, text)]
    body = complete[0]
    namespace = str(body["metadata"].get("namespace", "default")) if kind.namespaced else ""
    title = f"Create {kind.name} {body['metadata']['name']}"
    path = object_path(cluster, kind, namespace)
    kubectl = ["create", "-f", "-"]
    return [Recipe(title, path, "POST", body=body, kubectl=kubectl, stdin=dump_yaml(body))]


def import_recipe(cluster: str, text: str) -> Recipe:
    """Create all objects of a YAML stream, or none."""
    path = f"/api/v1/clusters/{cluster}/import"
    kubectl = ["create", "-f", "-"]
    return Recipe("Import YAML", path, "POST", body=text, kubectl=kubectl, stdin=text)


def update_recipe(cluster: str, kind: Kind, namespace: str, name: str, body: Body) -> Recipe:
    """Replace an object."""
    path = object_path(cluster, kind, namespace, name)
    kubectl = ["replace", "-f", "-"]
    title = f"Replace {kind.name} {name}"
    return Recipe(title, path, "PUT", body=body, kubectl=kubectl, stdin=dump_yaml(body))


def object_recipes(cluster: str, kind: Kind, namespace: str, name: str) -> list[Recipe]:
    """Read and delete one object."""
    path = object_path(cluster, kind, namespace, name)
    place = ["-n", namespace] if namespace else []
    named = [kind.qualified_plural, name, *place]
    return [
        Recipe(f"Read {kind.name} {name}", path, kubectl=["get", *named, "-o", "yaml"]),
        Recipe(f"Delete {kind.name} {name}", path, "DELETE", kubectl=["delete", *named]),
    ]


def bulk_recipes(cluster: str, resource: Resource, names: Sequence[str], text: str) -> list[Recipe]:
    """Each action on these objects that is possible with the text."""
    recipes = []
    for action in (*ACTIONS[resource], *(("drain",) if resource == "nodes" else ())):
        if action in WITH_TEXT and not _fits(resource, action, text):
            continue
        body: dict[str, Any] = {"resource": resource, "action": action, "names": list(names)}
        if action in WITH_TEXT:
            body["text"] = text
        recipes.append(
            Recipe(
                f"{action.capitalize()} {count(len(names), resource)}",
                f"/api/v1/clusters/{cluster}/bulk",
                "POST",
                body=body,
                kubectl=_kubectl(resource, action, names, text),
            )
        )
    return recipes


def _fits(resource: Resource, action: str, text: str) -> bool:
    try:
        BulkAction(resource, action, text)
    except BadRequest:
        return False
    return True


def _kubectl(resource: Resource, action: str, names: Sequence[str], text: str) -> list[str]:
    if resource == "pods":
        namespaces = {name.partition("/")[0] for name in names}
        if len(namespaces) > 1 or action == "evict":
            return []
        own = [name.partition("/")[2] for name in names]
        place = ["-n", *namespaces]
        if action == "delete":
            return ["delete", "pods", *place, *own]
        return [action, "pods", *place, "--overwrite", *own, text]
    match action:
        case "drain":
            return ["drain", "--ignore-daemonsets", *names]
        case "taint" | "untaint":
            return ["taint", "nodes", "--overwrite", *names, _taint(action, text)]
        case "label" | "annotate":
            return [action, "nodes", "--overwrite", *names, text]
        case "delete":
            return ["delete", "nodes", *names]
        case _:
            return [action, *names]


def _taint(action: str, text: str) -> str:
    """The taint in kubectl's notation, in which a trailing "-" removes it."""
    if action == "taint":
        return text
    rest, colon, effect = text.removesuffix("-").rpartition(":")
    key = (rest if colon else effect).partition("=")[0]
    return f"{key}:{effect}-" if colon else f"{key}-"


def cluster_recipe(settings: Mapping[str, Any]) -> Recipe:
    """Create a cluster of generated nodes."""
    return Recipe("Create a cluster", "/api/v1/clusters", "POST", body=dict(settings))


def cluster_recipes(cluster: str, *, paused: bool) -> list[Recipe]:
    """Read, pause or resume, export and delete a cluster."""
    path = f"/api/v1/clusters/{cluster}"
    switch = "resume" if paused else "pause"
    return [
        Recipe(f"Read cluster {cluster}", path),
        Recipe(f"{switch.capitalize()} it", f"{path}/{switch}", "POST"),
        Recipe("Export it as YAML", f"{path}/export"),
        Recipe("Delete it", path, "DELETE"),
    ]


def profile_recipe(cluster: str, configuration: str, name: str, note: str, legacy: bool) -> Recipe:
    """Add a revision of the configuration and activate it."""
    body = {"configuration": configuration, "name": name, "note": note, "legacy": legacy}
    return Recipe("Add a revision", f"/api/v1/clusters/{cluster}/profiles", "POST", body=body)


def activate_profile_recipe(cluster: str, revision: int) -> Recipe:
    """Activate a revision of the configuration."""
    path = f"/api/v1/clusters/{cluster}/profiles/{revision}/activate"
    return Recipe(f"Activate revision {revision}", path, "POST")


def activate_pods_recipe(cluster: str, pods: Sequence[str]) -> Recipe:
    """Activate pending pods, by `namespace/name`."""
    path = f"/api/v1/clusters/{cluster}/queue/activate"
    return Recipe(f"Activate {count(len(pods), 'pods')}", path, "POST", body={"pods": list(pods)})


def settings_recipe(cluster: str, values: Mapping[str, Any]) -> Recipe:
    """Change settings of a cluster."""
    return Recipe("Change settings", f"/api/v1/clusters/{cluster}", "PATCH", body=dict(values))


def drain_recipe(cluster: str, node: str, timeout: int, force: bool) -> Recipe:
    """Drain one node."""
    kubectl = ["drain", node, "--ignore-daemonsets", f"--timeout={timeout}s"]
    return Recipe(
        f"Drain {node}",
        f"/api/v1/clusters/{cluster}/nodes/{node}/drain",
        "POST",
        body={"force": force, "timeout_seconds": timeout},
        kubectl=[*kubectl, *(["--force"] if force else [])],
    )
