"""kr8s, which warns about versions of servers that it does not know."""

from __future__ import annotations

import time
import warnings

import kr8s
from kr8s.objects import ConfigMap, CustomResourceDefinition, Deployment, Node, Pod, new_class
from telling import NAMESPACE, config_map, definition, deployment, node, pod, step, tell, widget

GROUP = "kr8s.example.com"
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    api = kr8s.api()
    step("version", lambda: api.version())
tell("warnings", [str(each.message) for each in warned])
step("whoami", lambda: api.whoami())
step(
    "resources", lambda: sorted(f"{each['version']} {each['name']}" for each in api.api_resources())
)
for number in range(5):
    step(
        "create", lambda number=number: ConfigMap(config_map(f"m{number}", a="1"), api=api).create()
    )
step(
    "get",
    lambda: [
        each.raw for each in api.get("configmaps", namespace=NAMESPACE, label_selector={"app": "a"})
    ],
)
step("by name", lambda: [each.name for each in api.get("cm", "m1", namespace=NAMESPACE)])
step("missing", lambda: ConfigMap.get("none", NAMESPACE, api=api))
one = ConfigMap.get("m0", NAMESPACE, api=api)


def changed(call):
    call()
    return one.raw


step("patch", lambda: changed(lambda: one.patch({"data": {"b": "2"}})))
step(
    "json patch",
    lambda: changed(lambda: one.patch([{"op": "remove", "path": "/data/b"}], type="json")),
)
step("label", lambda: changed(lambda: one.label(x="y")))
step("annotate", lambda: changed(lambda: one.annotate(note="z")))
step("exists", lambda: (one.exists(), ConfigMap(config_map("none"), api=api).exists()))
web = Deployment(deployment("web"), api=api)
step("deployment", lambda: web.create() or web.raw)
step("scale", lambda: web.scale(3) or web.raw["spec"]["replicas"])
p = Pod(pod("p"), api=api)
step("pod", lambda: p.create() or p.raw)
step("ready", lambda: p.ready())
step("logs", lambda: list(p.logs()))
n = Node(node(f"{NAMESPACE}-n"), api=api)
step("node", lambda: n.create())
step("cordon", lambda: n.cordon() or n.raw["spec"])
step("uncordon", lambda: n.uncordon() or n.raw["spec"])
step("taint", lambda: n.taint("a", value="b", effect="NoSchedule") or n.raw["spec"])
crd = CustomResourceDefinition(definition(GROUP), api=api)
step("definition", lambda: crd.create())
# until it has conditions, without which kr8s fails
time.sleep(3)
step("wait", lambda: crd.wait("condition=Established", timeout=20))
Widget = new_class(
    kind="Widget", version=f"{GROUP}/v1", namespaced=True, plural="widgets", scalable=True
)
w = Widget(widget(GROUP, "w", replicas=1), api=api)
step("widget", lambda: w.create() or w.raw)
step("widget scale", lambda: w.scale(2) or w.raw["spec"])
step("widgets", lambda: [each.name for each in api.get(f"widgets.{GROUP}", namespace=NAMESPACE)])


def watched():
    seen = []
    for kind, body in api.watch("configmaps", namespace=NAMESPACE, label_selector={"app": "a"}):
        seen.append((kind, body.name))
        if len(seen) == 5:
            break
    return seen


step("watch", watched)
step("delete", lambda: one.delete())
step("gone", lambda: one.wait("delete", timeout=10))
step("delete pod", lambda: p.delete())
