"""Warnings about accepted objects, in the words of kube-apiserver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from apps.cluster.kind import Kind
from apps.cluster.validation.addresses import network_warnings
from apps.cluster.validation.formats import is_known
from apps.cluster.warnings.pods import (
    claim_warnings,
    label_warning,
    name_warnings,
    template_warnings,
    term_warnings,
    volume_type_warnings,
)

Body = Mapping[str, Any]
New = Callable[[Body], Iterator[str]]
Updated = Callable[[Body, Body], Iterator[str]]

_KEPT_PODS: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
    "to remove them or set propagationPolicy=Orphan to suppress this warning"
)
_TOKENS_IN_ATTRIBUTES: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to "
    "prevent possible logging of tokens in volume attributes"
)
_STANDARD_FINALIZERS: Final = frozenset({"foregroundDeletion", "orphan"})
_NO_PATH: Final = (
    "prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts "
    "with other finalizer writers"
)
_MOUNT_OPTIONS: Final = "volume.beta.kubernetes.io/mount-options"
_STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_INGRESS_CLASS: Final = "kubernetes.io/ingress.class"
_MOUNTABLE: Final = "kubernetes.io/enforce-mountable-secrets"
_ALL_REVISIONS: Final = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is "
    "recommended"
)
_MOST_COMPLETIONS: Final = 100_000
_MOST_PARALLEL: Final = 10_000


def warnings_of(kind: Kind, body: Body) -> list[str]:
    """The warnings for the creation of an object."""
    if kind.schema_name:
        return list(_finalizer_warnings(body["metadata"]))
    return list(kind.warn(body)) if kind.warn is not None else []


def warnings_of_update(kind: Kind, body: Body, old: Body) -> list[str]:
    """The warnings for an update of an object that is not one of its status."""
    if kind.schema_name:
        known = old["metadata"].get("finalizers") or ()
        return list(_finalizer_warnings(body["metadata"], known))
    return list(kind.warn_update(body, old)) if kind.warn_update is not None else []


def warnings_of_deletion(kind: str, options: Body) -> list[str]:
    """The warnings for a deletion with these options."""
    said = {"propagationPolicy", "orphanDependents"} & options.keys()
    return [_KEPT_PODS] if kind == "Job" and not said else []


def _finalizer_warnings(metadata: Body, known: Sequence[str] = ()) -> Iterator[str]:
    """About finalizers without a domain, except those that an object has had before."""
    for finalizer in metadata.get("finalizers") or ():
        if "/" not in finalizer and finalizer not in (*_STANDARD_FINALIZERS, *known):
            yield f'metadata.finalizers: "{finalizer}": {_NO_PATH}'


# -- workloads ----------------------------------------------------------------------------------


def named(warn: New) -> New:
    """The warnings about a new workload whose pods begin with its name."""

    def of(body: Body) -> Iterator[str]:
        yield from name_warnings(body["metadata"]["name"])
        yield from warn(body)

    return of


def if_changed(warn: New) -> Updated:
    """The warnings about an object whose update has raised its generation."""

    def of(body: Body, old: Body) -> Iterator[str]:
        if body["metadata"].get("generation") != old["metadata"].get("generation"):
            yield from warn(body)

    return of


def of_template(workload: Body) -> Iterator[str]:
    """The warnings about the pods of a workload."""
    yield from template_warnings(workload["spec"].get("template") or {}, "spec.template.")


def stateful_set_warnings(workload: Body) -> Iterator[str]:
    """The warnings about a new StatefulSet."""
    spec = workload["spec"]
    yield from _stateful_template_warnings(workload)
    if spec.get("revisionHistoryLimit", 0) < 0:
        yield _ALL_REVISIONS


def stateful_set_update_warnings(workload: Body, old: Body) -> Iterator[str]:
    """The warnings about an update of a StatefulSet."""
    yield from if_changed(_stateful_template_warnings)(workload, old)
    if workload["spec"].get("revisionHistoryLimit", 0) < 0:
        yield _ALL_REVISIONS


def _stateful_template_warnings(workload: Body) -> Iterator[str]:
    yield from of_template(workload)
    for index, claim in enumerate(workload["spec"].get("volumeClaimTemplates") or ()):
        yield from claim_warnings(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}]")


def job_warnings(job: Body) -> Iterator[str]:
    """The warnings about a Job."""
    yield from _job_warnings(job["spec"], "spec")


def cron_job_warnings(job: Body) -> Iterator[str]:
    """The warnings about a CronJob."""
    yield from _job_warnings(job["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec")


def _job_warnings(spec: Body, path: str) -> Iterator[str]:
    many = spec.get("completions", 0) > _MOST_COMPLETIONS
    if many and spec.get("completionMode") == "Indexed" and spec["parallelism"] > _MOST_PARALLEL:
        yield (
            f"{path}: In Indexed Jobs with a number of completions higher than 10^5 and a "
            "parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes "
            "when a big number of indexes fail"
        )
    yield from template_warnings(spec["template"], f"{path}.template.")


def pod_template_warnings(template: Body) -> Iterator[str]:
    """The warnings about a PodTemplate."""
    yield from template_warnings(template.get("template") or {}, "template.")


# -- other kinds --------------------------------------------------------------------------------


def service_warnings(service: Body) -> Iterator[str]:
    """The warnings about a Service."""
    spec = service["spec"]
    is_external = spec.get("type") == "ExternalName"
    is_headless = spec.get("clusterIP") == "None"
    addresses = spec.get("externalIPs") or ()
    if _HINTS in (service["metadata"].get("annotations") or {}):
        yield (
            f"annotation {_HINTS} is deprecated, please use service.kubernetes.io/topology-mode "
            "instead"
        )
    for index, address in enumerate(addresses):
        yield from network_warnings(address, f"spec.externalIPs[{index}]")
    yield from network_warnings(spec.get("loadBalancerIP", ""), "spec.loadBalancerIP")
    for index, network in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from network_warnings(network, f"spec.loadBalancerSourceRanges[{index}]")
    if addresses and is_external:
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    elif addresses and not is_headless:
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if spec.get("externalName") and not is_external:
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'
    if is_headless:
        if spec.get("loadBalancerIP"):
            yield "spec.loadBalancerIP is ignored for headless services"
        if addresses:
            yield "spec.externalIPs is ignored for headless services"
        if spec.get("sessionAffinity", "None") != "None":
            yield "spec.SessionAffinity is ignored for headless services"


def network_policy_warnings(policy: Body) -> Iterator[str]:
    """The warnings about a NetworkPolicy."""
    for field, peers in (("ingress", "from"), ("egress", "to")):
        for number, rule in enumerate(policy["spec"].get(field) or ()):
            for index, peer in enumerate(rule.get(peers) or ()):
                block = peer.get("ipBlock") or {}
                path = f"spec.{field}[{number}].{peers}[{index}].ipBlock"
                yield from network_warnings(block.get("cidr", ""), f"{path}.cidr")
                for at, part in enumerate(block.get("except") or ()):
                    yield from network_warnings(part, f"{path}.except[{at}]")


def ingress_warnings(ingress: Body) -> Iterator[str]:
    """The warnings about a new Ingress."""
    if _INGRESS_CLASS in (ingress["metadata"].get("annotations") or {}):
        yield (
            f"annotation \"{_INGRESS_CLASS}\" is deprecated, please use 'spec.ingressClassName' "
            "instead"
        )


def endpoint_slice_warnings(endpoints: Body) -> Iterator[str]:
    """The warnings about a new EndpointSlice."""
    if endpoints.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"


def definition_warnings(definition: Body) -> Iterator[str]:
    """The warnings about a CustomResourceDefinition: formats that nothing checks."""
    unknown: dict[str, None] = {}
    for version in definition["spec"].get("versions") or ():
        _note_formats((version.get("schema") or {}).get("openAPIV3Schema"), unknown)
    yield from (f'unrecognized format "{name}"' for name in unknown)


def _note_formats(schema: Any, unknown: dict[str, None]) -> None:
    if isinstance(schema, list):
        for each in schema:
            _note_formats(each, unknown)
    if not isinstance(schema, Mapping):
        return
    name = schema.get("format")
    if name and not is_known(name, schema.get("type", "")):
        unknown[name] = None
    for each in (schema.get("properties") or {}).values():
        _note_formats(each, unknown)
    for part in ("items", "additionalProperties", "allOf", "anyOf", "oneOf", "not"):
        _note_formats(schema.get(part), unknown)


def definition_update_warnings(definition: Body, old: Body) -> Iterator[str]:
    """The warnings about an update of a CustomResourceDefinition."""
    yield from definition_warnings(definition)


def service_account_warnings(account: Body) -> Iterator[str]:
    """The warnings about a new ServiceAccount."""
    if _MOUNTABLE in (account["metadata"].get("annotations") or {}):
        yield (
            f"metadata.annotations[{_MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces "
            "to isolate access to mounted secrets"
        )


def node_warnings(node: Body) -> Iterator[str]:
    """The warnings about a Node."""
    spec = node.get("spec") or {}
    if spec.get("configSource") is not None:
        yield "spec.configSource: the feature is no longer supported"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    for index, network in enumerate(spec.get("podCIDRs") or ()):
        yield from network_warnings(network, f"spec.podCIDRs[{index}]")


def volume_warnings(volume: Body) -> Iterator[str]:
    """The warnings about a PersistentVolume."""
    spec = volume["spec"]
    yield from _storage_class_warnings(volume["metadata"])
    if _MOUNT_OPTIONS in (volume["metadata"].get("annotations") or {}):
        yield (
            f'metadata.annotations[{_MOUNT_OPTIONS}]: deprecated since v1.31; use "mountOptions" '
            "attribute instead"
        )
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead,"
            " the recommended approach is to use dynamic provisioning."
        )
    terms = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or ()
    for index, term in enumerate(terms):
        yield from term_warnings(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]")
    yield from volume_type_warnings(spec, "spec")


def volume_claim_warnings(claim: Body) -> Iterator[str]:
    """The warnings about a PersistentVolumeClaim."""
    yield from _storage_class_warnings(claim["metadata"])
    yield from claim_warnings(claim["spec"], "spec")


def _storage_class_warnings(metadata: Body) -> Iterator[str]:
    if _STORAGE_CLASS in (metadata.get("annotations") or {}):
        yield (
            f'metadata.annotations[{_STORAGE_CLASS}]: deprecated since v1.8; use "storageClassName"'
            " attribute instead"
        )


def storage_class_warnings(storage_class: Body) -> Iterator[str]:
    """The warnings about a StorageClass."""
    for number, term in enumerate(storage_class.get("allowedTopologies") or ()):
        for index, expression in enumerate(term.get("matchLabelExpressions") or ()):
            if text := label_warning(expression.get("key", "")):
                place = f"allowedTopologies[{number}].matchLabelExpressions[{index}].key"
                yield f"{place}: {text}"


def runtime_class_warnings(runtime_class: Body) -> Iterator[str]:
    """The warnings about a RuntimeClass."""
    selector = (runtime_class.get("scheduling") or {}).get("nodeSelector") or {}
    for key in sorted(selector):
        if text := label_warning(key):
            yield f"scheduling.nodeSelector: {text}"


def storage_capacity_warnings(capacity: Body) -> Iterator[str]:
    """The warnings about a CSIStorageCapacity."""
    topology = capacity.get("nodeTopology") or {}
    yield from term_warnings(topology, "nodeTopology")
    for key in sorted(topology.get("matchLabels") or {}):
        if text := label_warning(key):
            yield f"nodeTopology.matchLabels.{key}: {text}"


def csi_driver_warnings(driver: Body) -> Iterator[str]:
    """The warnings about a new CSIDriver."""
    spec = driver["spec"]
    if spec.get("tokenRequests") and spec.get("serviceAccountTokenInSecrets") is None:
        yield _TOKENS_IN_ATTRIBUTES
