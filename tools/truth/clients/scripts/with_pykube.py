"""pykube-ng."""

from __future__ import annotations

import pykube
from telling import NAMESPACE, config_map, deployment, node, pod, step

api = pykube.HTTPClient(pykube.KubeConfig.from_env())
maps = pykube.ConfigMap.objects(api, namespace=NAMESPACE)


def changed(body, call):
    call()
    return body.obj


step("version", lambda: api.version)
step(
    "resources", lambda: sorted(each["name"] for each in api.resource_list("apps/v1")["resources"])
)
for number in range(4):
    one = pykube.ConfigMap(api, config_map(f"m{number}", a="1"))
    step("create", lambda one=one: changed(one, one.create))
step("filter", lambda: [each.name for each in maps.filter(selector={"app__in": {"a", "b"}})])
step("field", lambda: [each.name for each in maps.filter(field_selector={"metadata.name": "m2"})])
step("by name", lambda: maps.get_by_name("m0").obj)
step("missing", lambda: maps.get_by_name("none"))
step("or none", lambda: maps.get_or_none(name="none"))
step("patch", lambda: changed(one, lambda: one.patch({"data": {"z": "1"}})))


def update():
    one.obj["data"]["a"] = "9"
    one.update()


step("update", lambda: changed(one, update))
web = pykube.Deployment(api, deployment("web"))
step("deployment", lambda: changed(web, web.create))
step("scale", lambda: web.set_replicas(3) or web.replicas)
p = pykube.Pod(api, pod("p"))
step("pod", lambda: changed(p, p.create))
step("logs", lambda: p.logs())
n = pykube.Node(api, node(f"{NAMESPACE}-n"))
step("node", lambda: changed(n, n.create))
step("cordon", lambda: changed(n, n.cordon))


def watched():
    seen = []
    for event in maps.filter(selector={"app": "a"}).watch():
        seen.append((event.type, event.object.name))
        if len(seen) == 4:
            break
    return seen


step("watch", watched)
step("delete", lambda: one.delete() or one.exists())
step(
    "evict",
    lambda: api.raise_for_status(
        api.post(
            **api.get_kwargs(
                version="v1",
                namespace=NAMESPACE,
                url="pods/p/eviction",
                json={"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}},
            )
        )
    ),
)
