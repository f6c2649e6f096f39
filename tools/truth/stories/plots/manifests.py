"""The objects of stories."""

from __future__ import annotations

from typing import Any

Body = dict[str, Any]
APP = {"app": "web"}


def template(image: str = "i:1", labels: Body | None = None, **spec: Any) -> Body:
    """A pod template for the node that all stories share."""
    container: Body = {"name": "c", "image": image}
    metadata = {"labels": APP if labels is None else labels}
    return {
        "metadata": metadata,
        "spec": {"nodeSelector": SHARED, "containers": [container], **spec},
    }


#: The labels of the node that all stories share.
SHARED = {"shared": "yes"}


def workload(
    kind: str, name: str = "web", *, image: str = "i:1", pod: Body | None = None, **spec: Any
) -> Body:
    selector: Body = APP if kind == "ReplicationController" else {"matchLabels": APP}
    return {
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"selector": selector, "template": template(image, **(pod or {})), **spec},
    }


def job(name: str = "job", *, pod: Body | None = None, **spec: Any) -> Body:
    given = template(labels={"of": name}, **{"restartPolicy": "Never", **(pod or {})})
    return {"kind": "Job", "metadata": {"name": name}, "spec": {"template": given, **spec}}


def pod(name: str, labels: Body | None = None, **spec: Any) -> Body:
    given = template(labels=labels or {}, **spec)
    given["metadata"] = {"name": name, **given["metadata"]}
    return {"kind": "Pod", **given}


def node(name: str, story: str, ready: str = "True", **spec: Any) -> Body:
    """The node NAME.STORY, which has the label of its name."""
    capacity = {"cpu": "64", "memory": "64Gi", "pods": "1000"}
    condition = {
        "type": "Ready",
        "status": ready,
        "reason": "KubeletReady",
        "lastHeartbeatTime": "2020-01-01T00:00:00Z",
        "lastTransitionTime": "2020-01-01T00:00:00Z",
    }
    status = {"capacity": capacity, "allocatable": capacity, "conditions": [condition]}
    full = f"{name}.{story}"
    labels = {"kubernetes.io/hostname": full}
    return {
        "kind": "Node",
        "metadata": {"name": full, "labels": labels},
        "spec": spec,
        "status": status,
    }


def image(name: str) -> Body:
    """The patch of a workload that changes its image."""
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": name}]}}}}


def scale(replicas: int) -> Body:
    return {"spec": {"replicas": replicas}}


#: The patch of a pod's status that ends it.
FAILED: Body = {"status": {"phase": "Failed"}}
