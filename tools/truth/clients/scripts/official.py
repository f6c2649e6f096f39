"""The official client, `kubernetes`."""

from __future__ import annotations

import threading
import time

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.stream import stream
from telling import NAMESPACE, config_map, definition, deployment, node, pod, step, widget

GROUP = "official.example.com"

config.load_kube_config()
core, apps, api = client.CoreV1Api(), client.AppsV1Api(), client.ApiClient()

step("version", lambda: client.VersionApi().get_code())
step("groups", lambda: [each.name for each in client.ApisApi().get_api_versions().groups])
step("resources", lambda: core.get_api_resources())
for number in range(7):
    body = config_map(f"m{number}", a=str(number))
    step("create", lambda body=body: core.create_namespaced_config_map(NAMESPACE, body))


def pages():
    found, token = [], None
    while True:
        page = core.list_namespaced_config_map(
            NAMESPACE, limit=3, _continue=token, label_selector="app=a"
        )
        names = [each.metadata.name for each in page.items]
        found.append((names, page.metadata.remaining_item_count, bool(page.metadata._continue)))
        token = page.metadata._continue
        if not token:
            return found


step("pages", pages)
step("bad token", lambda: core.list_namespaced_config_map(NAMESPACE, limit=3, _continue="x"))
listed = core.list_namespaced_config_map(NAMESPACE, label_selector="app=a")
since = listed.metadata.resource_version


def changes():
    core.create_namespaced_config_map(NAMESPACE, config_map("w", a="1"))
    core.patch_namespaced_config_map("w", NAMESPACE, {"data": {"a": "2"}})
    core.patch_namespaced_config_map("w", NAMESPACE, {"metadata": {"labels": {"app": None}}})
    core.patch_namespaced_config_map("w", NAMESPACE, {"metadata": {"labels": {"app": "a"}}})
    core.delete_namespaced_config_map("w", NAMESPACE)


def watched(version, selector="app=a"):
    seen, last = [], version
    for event in watch.Watch().stream(
        core.list_namespaced_config_map,
        NAMESPACE,
        label_selector=selector,
        resource_version=version,
        timeout_seconds=2,
    ):
        last = event["object"].metadata.resource_version
        seen.append((event["type"], event["object"].metadata.name, event["object"].data, last))
    return seen


step("changes", changes)
events = watched(since)
step("watch", lambda: [each[:3] for each in events])
# as an informer that has lost its connection
step("watch again", lambda: [each[:3] for each in watched(events[2][3])])
step("watch others", lambda: [each[:3] for each in watched(since, "app!=a")])
step("watch from zero", lambda: [each[:3] for each in watched("0")])
step("watch the future", lambda: watched("99999999"))

step("duplicate", lambda: core.create_namespaced_config_map(NAMESPACE, config_map("m0")))
step("missing", lambda: core.read_namespaced_config_map("none", NAMESPACE))
stale = config_map("m0", a="9")
stale["metadata"]["resourceVersion"] = "1"
step("stale", lambda: core.replace_namespaced_config_map("m0", NAMESPACE, stale))
step("invalid", lambda: core.create_namespaced_pod(NAMESPACE, pod("P_1", restartPolicy="Perhaps")))
step("dry run", lambda: core.create_namespaced_pod(NAMESPACE, pod("d"), dry_run="All"))

step("deployment", lambda: apps.create_namespaced_deployment(NAMESPACE, deployment("web")))
step("scale", lambda: apps.read_namespaced_deployment_scale("web", NAMESPACE))
step(
    "patch scale",
    lambda: apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 3}}),
)
for name, form, change in (
    ("json patch", "json-patch+json", [{"op": "replace", "path": "/spec/replicas", "value": 2}]),
    ("bad json patch", "json-patch+json", [{"op": "remove", "path": "/spec/none"}]),
    ("merge patch", "merge-patch+json", {"metadata": {"labels": {"x": "y"}}}),
    (
        "strategic patch",
        "strategic-merge-patch+json",
        {"spec": {"template": {"spec": {"containers": [{"name": "c", "env": [{"name": "A"}]}]}}}},
    ),
):
    step(
        name,
        lambda form=form, change=change: apps.patch_namespaced_deployment(
            "web", NAMESPACE, change, _content_type=f"application/{form}"
        ),
    )


def apply(manager, data, **options):
    return core.patch_namespaced_config_map(
        "applied",
        NAMESPACE,
        config_map("applied", **data),
        field_manager=manager,
        _content_type="application/apply-patch+yaml",
        **options,
    )


step("apply", lambda: apply("one", {"a": "1"}))
step("apply again", lambda: apply("one", {"a": "2", "b": "1"}))
step("apply conflict", lambda: apply("two", {"a": "3"}))
step("apply force", lambda: apply("two", {"a": "3"}, force=True))
step("apply less", lambda: apply("one", {}))

step("pod", lambda: core.create_namespaced_pod(NAMESPACE, pod("p")))
step("logs", lambda: core.read_namespaced_pod_log("p", NAMESPACE))
step("logs of none", lambda: core.read_namespaced_pod_log("none", NAMESPACE))
step("logs of no container", lambda: core.read_namespaced_pod_log("p", NAMESPACE, container="x"))
step(
    "exec",
    lambda: stream(core.connect_get_namespaced_pod_exec, "p", NAMESPACE, command=["ls"]),
)
condition = {"type": "Ready", "status": "False", "reason": "Said"}
step(
    "status",
    lambda: core.patch_namespaced_pod_status(
        "p", NAMESPACE, {"status": {"conditions": [condition]}}
    ),
)
eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
step("evict", lambda: core.create_namespaced_pod_eviction("p", NAMESPACE, eviction))
step("evict again", lambda: core.create_namespaced_pod_eviction("p", NAMESPACE, eviction))
step("node", lambda: core.create_node(node(f"{NAMESPACE}-n")))
step("bound", lambda: core.create_namespaced_pod(NAMESPACE, pod("b")))
binding = {"metadata": {"name": "b"}, "target": {"kind": "Node", "name": f"{NAMESPACE}-n"}}
step(
    "bind",
    lambda: (
        core.create_namespaced_pod_binding("b", NAMESPACE, binding, _preload_content=False).data
    ),
)
step("logs of a bound pod", lambda: core.read_namespaced_pod_log("b", NAMESPACE))
step("delete bound", lambda: core.delete_namespaced_pod("b", NAMESPACE, grace_period_seconds=0))

step(
    "definition",
    lambda: client.ApiextensionsV1Api().create_custom_resource_definition(definition(GROUP)),
)
time.sleep(3)
custom, place = client.CustomObjectsApi(), (GROUP, "v1", NAMESPACE, "widgets")
step(
    "widget",
    lambda: custom.create_namespaced_custom_object(*place, widget(GROUP, "w", replicas=2)),
)
step("widget list", lambda: custom.list_namespaced_custom_object(*place, limit=1))
step(
    "widget status",
    lambda: custom.patch_namespaced_custom_object_status(*place, "w", {"status": {"replicas": 2}}),
)
step("widget scale", lambda: custom.get_namespaced_custom_object_scale(*place, "w"))
step("widgets deleted", lambda: custom.delete_collection_namespaced_custom_object(*place))
step("unknown kind", lambda: custom.list_cluster_custom_object(GROUP, "v1", "gadgets"))

dynamically = dynamic.DynamicClient(api)
maps = dynamically.resources.get(api_version="v1", kind="ConfigMap")
step("dynamic get", lambda: maps.get(name="m0", namespace=NAMESPACE).to_dict())
step(
    "dynamic apply",
    lambda: maps.server_side_apply(
        body=config_map("m9", a="1"), field_manager="dynamic", namespace=NAMESPACE
    ).to_dict(),
)
step(
    "from dict",
    lambda: [each.metadata.name for each in utils.create_from_dict(api, config_map("fd"))],
)
attributes = {"resource": "pods", "verb": "get", "namespace": NAMESPACE}
review = {"spec": {"resourceAttributes": attributes}}
step(
    "review",
    lambda: client.AuthorizationV1Api().create_self_subject_access_review(review),
)


def lead():
    """Two candidates for a Lease; the second one leads when the first one stops."""
    from kubernetes.leaderelection import electionconfig, leaderelection
    from kubernetes.leaderelection.resourcelock import leaselock

    led = []

    def run(name):
        lock = leaselock.LeaseLock("leader", NAMESPACE, name)
        chosen = electionconfig.Config(
            lock,
            lease_duration=6,
            renew_deadline=4,
            retry_period=1,
            onstarted_leading=lambda: led.append(name),
            onstopped_leading=lambda: None,
        )
        leaderelection.LeaderElection(chosen).run()

    threading.Thread(target=run, args=("one",), daemon=True).start()
    time.sleep(3)
    threading.Thread(target=run, args=("two",), daemon=True).start()
    time.sleep(3)
    lease = client.CoordinationV1Api().read_namespaced_lease("leader", NAMESPACE)
    return led, lease.spec.holder_identity, lease.spec.lease_duration_seconds


step("lead", lead)
step(
    "all deleted",
    lambda: core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="app=a"),
)
step(
    "nothing left", lambda: core.list_namespaced_config_map(NAMESPACE, label_selector="app=a").items
)
