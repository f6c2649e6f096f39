"""Plugin NodeRestriction, for labels: a kubelet cannot attract pods to its node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.admission.draft import Body, forbidden
from apps.cluster.admission.plugins.plugin import (
    AdmissionPlugin,
    Attributes,
    Parameters,
    check_known,
)
from apps.cluster.validation.causes import Causes, invalid

#: Labels with this prefix are reserved for administrators.
PREFIX: Final = "node-restriction.kubernetes.io"
_USER: Final = "system:node:"
#: Labels of Kubernetes' own domains that a kubelet may set.
_OWN: Final = frozenset(
    {
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)
_OWN_PREFIXES: Final = ("kubelet.kubernetes.io", "node.kubernetes.io")


def _restrict(node: Body, request: Attributes, parameters: Parameters) -> None:
    name = node["metadata"].get("name", "")
    kubelets = parameters.get("kubelets") or ()
    if not request.user.startswith(_USER) and request.user not in kubelets:
        return
    own = request.user.removeprefix(_USER)
    if request.user.startswith(_USER) and own != name:
        raise forbidden("nodes", name, f'node "{own}" is not allowed to modify node "{name}"')
    before = {} if request.old is None else request.old["metadata"].get("labels") or {}
    denied = sorted(
        filter(_is_reserved, _changed_labels(before, node["metadata"].get("labels") or {}))
    )
    if denied:
        doing = "set the following labels" if request.old is None else "modify labels"
        raise forbidden("nodes", name, f"is not allowed to {doing}: {', '.join(denied)}")


def _changed_labels(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    return {key for key in {*before, *after} if before.get(key) != after.get(key)}


def _is_reserved(label: str) -> bool:
    domain = label.rpartition("/")[0]
    if _within(domain, PREFIX):
        return True
    if not _within(domain, "kubernetes.io") and not _within(domain, "k8s.io"):
        return False
    return label not in _OWN and not any(_within(domain, prefix) for prefix in _OWN_PREFIXES)


def _within(domain: str, parent: str) -> bool:
    return domain == parent or domain.endswith(f".{parent}")


def _check(parameters: Parameters, path: str) -> Causes:
    yield from check_known(parameters, ("kubelets",), path)
    kubelets = parameters.get("kubelets", [])
    if not isinstance(kubelets, list) or not all(isinstance(each, str) for each in kubelets):
        yield invalid(f"{path}.kubelets", kubelets, "must be a list of user names")


NODE_RESTRICTION: Final = AdmissionPlugin(
    name="NodeRestriction",
    about=(
        "Kubelets (users system:node:NAME, and those listed) cannot set or change labels of "
        "node-restriction.kubernetes.io and other labels that are Kubernetes' own."
    ),
    kind="Node",
    admit=_restrict,
    check=_check,
    example={"kubelets": ["kubelet-user"]},
)
