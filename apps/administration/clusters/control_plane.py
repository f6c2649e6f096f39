"""A control plane node with the mirror pod of kube-scheduler, as kubeadm sets them up."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.controllers.kubelet.registration import KUBELET_VERSION

Body = dict[str, Any]

NODE: Final = "control-plane"
NAMESPACE: Final = "kube-system"
_ROLE: Final = "node-role.kubernetes.io/control-plane"
_IMAGE: Final = f"registry.k8s.io/kube-scheduler:{KUBELET_VERSION}"


def create_control_plane(cluster: Cluster, *, actor: Actor) -> None:
    """Create the node, which is tainted for other pods, and its mirror pod."""
    node = generate_node(
        NODE,
        "zone-1",
        cpu="4",
        memory="8Gi",
        beta_labels=cluster.beta_node_labels,
        now=cluster.now(),
    )
    node["metadata"]["labels"][_ROLE] = ""
    node["spec"] = {"taints": [{"key": _ROLE, "effect": "NoSchedule"}]}
    created = store.create(cluster, kinds.NODE, node, actor=actor)
    pod = _scheduler_pod(created["metadata"]["uid"], cluster.now())
    store.create(cluster, kinds.POD, pod, actor=actor, namespace=NAMESPACE)


def _scheduler_pod(node_uid: str, now: datetime) -> Body:
    """What the node's kubelet shows of a static pod: it cannot be changed through the API."""
    digest = hashlib.blake2b(node_uid.encode(), digest_size=16).hexdigest()
    owner = {"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": node_uid, "controller": True}
    return {
        "metadata": {
            "name": f"kube-scheduler-{NODE}",
            "labels": {"component": "kube-scheduler", "tier": "control-plane"},
            "annotations": {
                "kubernetes.io/config.hash": digest,
                "kubernetes.io/config.mirror": digest,
                "kubernetes.io/config.seen": now.isoformat(),
                "kubernetes.io/config.source": "file",
            },
            "ownerReferences": [owner],
        },
        "spec": {
            "nodeName": NODE,
            "hostNetwork": True,
            "priorityClassName": "system-node-critical",
            "tolerations": [{"operator": "Exists", "effect": "NoExecute"}],
            "containers": [
                {
                    "name": "kube-scheduler",
                    "image": _IMAGE,
                    "command": ["kube-scheduler", "--leader-elect=true"],
                    "resources": {"requests": {"cpu": "100m"}},
                }
            ],
        },
    }
