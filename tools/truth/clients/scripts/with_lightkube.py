"""lightkube."""

from __future__ import annotations

import lightkube
from lightkube import codecs
from lightkube.generic_resource import create_namespaced_resource, load_in_cluster_generic_resources
from lightkube.models.autoscaling_v1 import ScaleSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Pod
from lightkube.types import PatchType
from telling import NAMESPACE, config_map, definition, deployment, pod, step, widget

GROUP = "lightkube.example.com"
client = lightkube.Client(namespace=NAMESPACE, field_manager="lightkube")


def load(body):
    return codecs.from_dict(body)


for number in range(7):
    step("create", lambda number=number: client.create(load(config_map(f"m{number}", a="1"))))
step(
    "list",
    lambda: [
        each.metadata.name for each in client.list(ConfigMap, chunk_size=2, labels={"app": "a"})
    ],
)
step(
    "fields",
    lambda: [each.metadata.name for each in client.list(ConfigMap, fields={"metadata.name": "m3"})],
)
listed = client.list(ConfigMap, labels={"app": "a"})
list(listed)
since = listed.resourceVersion
step("patch", lambda: client.patch(ConfigMap, "m0", {"data": {"a": "2"}}))
step(
    "merge",
    lambda: client.patch(ConfigMap, "m0", {"data": {"a": None}}, patch_type=PatchType.MERGE),
)
step(
    "json",
    lambda: client.patch(
        ConfigMap,
        "m0",
        [{"op": "add", "path": "/data", "value": {"z": "1"}}],
        patch_type=PatchType.JSON,
    ),
)


def watched():
    seen = []
    for kind, body in client.watch(
        ConfigMap, labels={"app": "a"}, resource_version=since, server_timeout=2
    ):
        seen.append((kind, body.metadata.name, body.data))
        if len(seen) == 3:
            break
    return seen


step("watch", watched)
step("apply", lambda: client.apply(load(config_map("s", a="1"))))
step("apply other", lambda: client.apply(load(config_map("s", a="2")), field_manager="other"))
step(
    "apply force",
    lambda: client.apply(load(config_map("s", a="2")), field_manager="other", force=True),
)
step("set", lambda: client.set({"a": "b"}) if hasattr(client, "set") else None)
step("deployment", lambda: client.create(load(deployment("web"))))
step("scale", lambda: client.get(Deployment.Scale, "web"))
scale = Deployment.Scale(
    metadata=ObjectMeta(name="web", namespace=NAMESPACE), spec=ScaleSpec(replicas=4)
)
step("replace scale", lambda: client.replace(scale))
step("pod", lambda: client.create(load(pod("p"))))
step("logs", lambda: list(client.log("p")))
step("status", lambda: client.patch(Pod.Status, "p", {"status": {"phase": "Running"}}))
step("missing", lambda: client.get(ConfigMap, "none"))
step("duplicate", lambda: client.create(load(config_map("m0"))))
step("definition", lambda: client.create(load(definition(GROUP))))
step(
    "wait",
    lambda: (
        client.wait(
            CustomResourceDefinition, f"widgets.{GROUP}", for_conditions=["Established"]
        ).spec.names
    ),
)
step("generic", lambda: load_in_cluster_generic_resources(client))
Widget = create_namespaced_resource(GROUP, "v1", "Widget", "widgets")
step("widget", lambda: client.create(Widget(widget(GROUP, "w", replicas=1))))
step("widgets", lambda: [each.metadata.name for each in client.list(Widget)])
step(
    "widget status",
    lambda: client.patch(
        Widget.Status, "w", {"status": {"replicas": 1}}, patch_type=PatchType.MERGE
    ),
)
step("delete", lambda: client.delete(ConfigMap, "m0"))
step("delete many", lambda: client.deletecollection(ConfigMap, labels={"app": "a"}))
step("left", lambda: [each.metadata.name for each in client.list(ConfigMap, labels={"app": "a"})])
