"""An operator of kopf: its handlers, and what it writes to the objects."""

from __future__ import annotations

import asyncio
import os
import threading
import time

import kopf
import pykube
from telling import NAMESPACE, config_map, definition, tell, widget

GROUP = "kopf.example.com"
called: list[tuple[object, ...]] = []
api = pykube.HTTPClient(pykube.KubeConfig.from_env())
Widget = pykube.object_factory(api, "apiextensions.k8s.io/v1", "CustomResourceDefinition")
Widget(api, definition(GROUP)).create()
time.sleep(3)


@kopf.on.create(GROUP, "v1", "widgets")
def created(spec, patch, **_):
    called.append(("create", dict(spec)))
    patch.status["seen"] = True
    return {"answer": 42}


@kopf.on.update(GROUP, "v1", "widgets", field="spec.size")
def updated(old, new, **_):
    called.append(("update", old, new))


@kopf.on.delete(GROUP, "v1", "widgets")
def deleted(**_):
    called.append(("delete",))


@kopf.on.event("v1", "configmaps", labels={"app": "a"})
def noticed(event, name, **_):
    called.append(("event", event["type"], name))


ready, stop = threading.Event(), threading.Event()


def operate():
    asyncio.run(
        kopf.operator(standalone=True, namespaces=[NAMESPACE], ready_flag=ready, stop_flag=stop)
    )


thread = threading.Thread(target=operate, daemon=True)
thread.start()
ready.wait(30)
time.sleep(2)
kind = pykube.object_factory(api, f"{GROUP}/v1", "Widget")
one = kind(api, widget(GROUP, "w", size=1))
one.create()
time.sleep(3)
one.reload()
metadata = one.obj["metadata"]
tell(
    "created",
    (metadata.get("finalizers"), sorted(metadata.get("annotations", ())), one.obj.get("status")),
)
one.patch({"spec": {"size": 2}})
pykube.ConfigMap(api, config_map("m", a="1")).create()
time.sleep(3)
one.delete()
time.sleep(3)
tell("exists", one.exists())
events = pykube.Event.objects(api, namespace=NAMESPACE)
tell(
    "events", sorted((each.obj["reason"], each.obj["type"], each.obj["message"]) for each in events)
)
tell("called", [each for each in called if each[0] != "event"])
tell("noticed", [each for each in called if each[0] == "event"])
stop.set()
thread.join(10)
tell("stopped", not thread.is_alive())
os._exit(0)
