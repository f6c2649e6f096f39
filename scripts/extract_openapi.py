"""Extract the OpenAPI definitions of the served kinds from those of a Kubernetes release.

    python scripts/extract_openapi.py DOCUMENTS OUTPUT.json.gz PARAMETERS.json

DOCUMENTS is a folder with OpenAPI v3 documents of the release: `api/openapi-spec/v3` of its source,
or what a server of it answers at `/openapi/v3/...`, a file each. They say which fields are always
present (`default: {}`) and which values a field may have, as v2 does not. Beside them is the
document of v2, which lists the groups of kinds that all groups have. PARAMETERS gets what they say
of the parameters of operations. Kubernetes and its documents are licensed under the Apache
License 2.0.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

GVK = "x-kubernetes-group-version-kind"
ROOTS = {
    "io.k8s.api.admissionregistration.v1": (
        "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration "
        "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration"
    ),
    "io.k8s.api.apps.v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "io.k8s.api.authentication.v1": "SelfSubjectReview TokenRequest TokenReview",
    "io.k8s.api.authorization.v1": (
        "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview "
        "SubjectAccessReview"
    ),
    "io.k8s.api.autoscaling.v1": "HorizontalPodAutoscaler Scale",
    "io.k8s.api.autoscaling.v2": "HorizontalPodAutoscaler",
    "io.k8s.api.batch.v1": "CronJob Job",
    "io.k8s.api.certificates.v1": "CertificateSigningRequest",
    "io.k8s.api.coordination.v1": "Lease",
    "io.k8s.api.core.v1": (
        "Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node "
        "PersistentVolume PersistentVolumeClaim Pod PodTemplate ReplicationController "
        "ResourceQuota Secret Service ServiceAccount"
    ),
    "io.k8s.api.discovery.v1": "EndpointSlice",
    "io.k8s.api.events.v1": "Event",
    "io.k8s.api.flowcontrol.v1": "FlowSchema PriorityLevelConfiguration",
    "io.k8s.api.networking.v1": "IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR",
    "io.k8s.api.node.v1": "RuntimeClass",
    "io.k8s.api.policy.v1": "Eviction PodDisruptionBudget",
    "io.k8s.api.rbac.v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "io.k8s.api.resource.v1": "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
    "io.k8s.api.scheduling.v1": "PriorityClass",
    "io.k8s.api.scheduling.v1alpha2": "PodGroup Workload",
    "io.k8s.api.storage.v1": (
        "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass"
    ),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1": "CustomResourceDefinition",
    "io.k8s.apimachinery.pkg.apis.meta.v1": (
        "APIGroup APIGroupList APIResourceList APIVersions DeleteOptions ListMeta Patch Status "
        "WatchEvent"
    ),
    "io.k8s.apimachinery.pkg.version": "Info",
    "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1": "APIService",
}


def main(source: Path, target: Path, parameters: Path) -> None:
    definitions: dict[str, Any] = {}
    documents = [json.loads(file.read_text("utf-8")) for file in sorted(source.glob("*.json"))]
    for document in documents:
        definitions |= document.get("components", {}).get("schemas", {})
    for document in documents:
        for name, schema in document.get("definitions", {}).items():
            if name in definitions and len(schema.get(GVK, ())) > 1:
                definitions[name] = {**definitions[name], GVK: schema[GVK]}
    text = json.dumps(_parameters(documents), indent=2, sort_keys=True, ensure_ascii=False)
    parameters.write_text(f"{text}\n", encoding="utf-8")
    wanted = [f"{package}.{kind}" for package, kinds in ROOTS.items() for kind in kinds.split()]
    wanted += [f"{name}List" for name in wanted if f"{name}List" in definitions]
    kept: dict[str, Any] = {}
    while wanted:
        name = wanted.pop()
        if name not in kept:
            kept[name] = _plain(definitions[name])
            wanted.extend(_references(kept[name]))
    text = json.dumps(dict(sorted(kept.items())), separators=(",", ":"))
    with target.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(text.encode())
    print(f"{len(kept)} definitions, {len(text)} characters, {target.stat().st_size} bytes")


def _parameters(documents: list[Any]) -> dict[str, Any]:
    """Parameter -> its type and description.

    Others than elsewhere have `fieldManager/patch`, and what leads to a kubelet or a pod, such as
    `stdin/PodExecOptions`.
    """
    parameters: dict[str, Any] = {}
    for document in documents:
        if "openapi" not in document:
            continue
        for operations in document["paths"].values():
            shared = operations.pop("parameters", [])
            for method, operation in operations.items():
                connects = operation.get("x-kubernetes-action") == "connect"
                for each in (*shared, *operation.get("parameters", ())):
                    name = each["name"]
                    described = {"type": each["schema"]["type"], "description": each["description"]}
                    if each["in"] == "path" and name != "namespace":
                        continue
                    if connects and name != "namespace":
                        parameters[f"{name}/{operation[GVK]['kind']}"] = described
                    elif name == "fieldManager" and method == "patch":
                        parameters[f"{name}/{method}"] = described
                    else:
                        parameters[name] = described
    return parameters


def _plain(schema: Any) -> Any:
    """The schema with a reference beside its description and default, not in an `allOf`."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: _plain(value) for key, value in schema.items()}
    match plain.get("allOf"):
        case [{"$ref": _} as referring]:
            del plain["allOf"]
            plain |= referring
    return plain


def _references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [name for item in schema for name in _references(item)]
    if not isinstance(schema, dict):
        return []
    names = [name for value in schema.values() for name in _references(value)]
    if isinstance(schema.get("$ref"), str):
        names.append(schema["$ref"].rpartition("/")[2])
    return names


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
